"""Where credentials usually lie in a home directory."""

PLACES = (
    *(".ssh", ".aws", ".gnupg", ".config", ".kube", ".docker", ".azure", ".oci", ".password-store", ".terraform.d"),
    *(".local/share/keyrings", ".mozilla", ".thunderbird", ".claude", ".codex", ".gemini"),
    *(".netrc", ".git-credentials", ".gitconfig", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf"),
    *(".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml"),
    *(".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials", ".composer/auth.json"),
    *(".nuget/NuGet/NuGet.Config", ".bash_history", ".zsh_history", ".python_history"),
)
"""Files and directories, relative to the home directory."""
