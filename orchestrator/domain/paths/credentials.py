"""Usual paths of credentials, in a home directory and in a checkout."""

from fnmatch import fnmatchcase
from itertools import product

CREDENTIAL_PATHS = (
    *(".ssh", ".aws", ".gnupg", ".config", ".kube", ".docker", ".azure", ".oci", ".password-store", ".terraform.d"),
    *(".local/share/keyrings", ".mozilla", ".thunderbird", ".claude", ".codex", ".gemini"),
    *(".netrc", ".git-credentials", ".gitconfig", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf"),
    *(".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml"),
    *(".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials", ".composer/auth.json"),
    *(".nuget/NuGet/NuGet.Config", ".bash_history", ".zsh_history", ".python_history"),
)
"""Files and directories, relative to the home directory."""

SECRET_NAME_GLOBS = (
    *(".env", ".env.*", ".envrc", "secrets", "secrets.*", "secret.*", "*.secret", "*.secrets", "credentials"),
    *("credentials.*", "service-account*.json", "service_account*.json", "client_secret*.json", "id_rsa*", "id_dsa*"),
    *("id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("*.ovpn", "*.gpg", "*.asc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd"),
    *(".git-credentials", ".gitconfig", ".vault*", ".ssh", ".aws", ".kube", ".gnupg", ".docker", "auth.json"),
    *("local_settings.py", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*", "token", "tokens", "*.token"),
)
"""Globs of the names, in any case, that files and directories mostly have because they hold secrets."""

SECRET_FILE_EXAMPLES = (
    *(".env", ".env.local", ".env.production", "app/.env", "secrets.json", "secrets.yaml", "secrets/token"),
    *("credentials", "credentials.json", "service-account.json", "id_rsa", "id_ed25519", "server.pem", "server.key"),
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws/credentials", ".ssh/id_rsa", ".kube/config"),
    *("local_settings.py", "terraform.tfvars", "terraform.tfstate", "keystore.jks", ".git/config"),
    *("config/master.key", "config/secrets.yml", "signing.p12", "signing.pfx"),
)
"""Examples of what git ignores in a checkout because it holds secrets."""


def is_secret_path(path: str) -> bool:
    """Return True if a path is known for secrets by its own name or that of a directory it lies in."""
    names = path.lower().split("/")
    return any(fnmatchcase(name, glob) for name, glob in product(names, SECRET_NAME_GLOBS))
