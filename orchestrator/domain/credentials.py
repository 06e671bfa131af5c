"""Where credentials usually lie, in a home directory and in a checkout."""

PLACES = (
    *(".ssh", ".aws", ".gnupg", ".config", ".kube", ".docker", ".azure", ".oci", ".password-store", ".terraform.d"),
    *(".local/share/keyrings", ".mozilla", ".thunderbird", ".claude", ".codex", ".gemini"),
    *(".netrc", ".git-credentials", ".gitconfig", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf"),
    *(".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml"),
    *(".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials", ".composer/auth.json"),
    *(".nuget/NuGet/NuGet.Config", ".bash_history", ".zsh_history", ".python_history"),
)
"""Files and directories, relative to the home directory."""

SECRET_FILES = (
    *(".env", ".env.local", ".env.production", "app/.env", "secrets.json", "secrets.yaml", "secrets/token"),
    *("credentials", "credentials.json", "service-account.json", "id_rsa", "id_ed25519", "server.pem", "server.key"),
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws/credentials", ".ssh/id_rsa", ".kube/config"),
    *("local_settings.py", "terraform.tfvars", "terraform.tfstate", "keystore.jks", ".git/config"),
)
"""Examples of what git ignores in a checkout because it holds secrets."""
