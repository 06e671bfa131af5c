"""The environment git runs in: built from nothing, with every setting that could execute something switched off."""

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

Setting = tuple[str, str]

_NOWHERE = "/nonexistent"

SAFE_SETTINGS: tuple[Setting, ...] = (
    # nothing may be executed or contacted
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", "true"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.submodule", "short"),
    # content is kept byte for byte, and changes are seen whatever the user's own settings are
    ("core.attributesFile", os.devnull),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.eol", "lf"),
    ("core.fileMode", "true"),
    ("core.symlinks", "true"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("i18n.commitEncoding", "UTF-8"),
    # an index of one plain file that describes the whole tree
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
    ("core.sparseCheckout", "false"),
    ("core.sparseCheckoutCone", "false"),
    ("index.sparse", "false"),
    # output and results that do not depend on the user's taste
    ("core.quotePath", "false"),
    ("core.warnAmbiguousRefs", "false"),
    ("color.ui", "false"),
    ("grep.column", "false"),
    ("grep.fullName", "false"),
    ("merge.conflictStyle", "merge"),
    ("merge.directoryRenames", "conflict"),
    ("merge.renames", "true"),
    ("merge.renormalize", "true"),  # without it merge-tree does not read the trees' own .gitattributes
    ("worktree.useRelativePaths", "false"),
    # objects and refs are on the disk before anybody writes down that they exist
    ("core.fsync", "committed,reference"),
    ("core.fsyncMethod", "batch"),
    # git waits for refs that another process is just moving, and writes a reflog for branches
    ("core.filesRefLockTimeout", "1000"),
    ("core.packedRefsTimeout", "5000"),
    ("core.logAllRefUpdates", "true"),
)
"""Settings that win over the user's and the repository's own configuration."""

_FIXED: Mapping[str, str] = MappingProxyType(
    {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": _NOWHERE,
        "XDG_CONFIG_HOME": _NOWHERE,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TEMPLATE_DIR": "",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
    }
)


def build_git_environment(
    search_path: str, git_dir: Path, work_tree: Path | None, index: Path | None, overrides: Iterable[Setting]
) -> dict[str, str]:
    """Build all variables of a git process; nothing is inherited.

    Settings travel in variables, not in arguments, because a driver's name may hold any character.
    """
    variables = {**_FIXED, "PATH": search_path, "GIT_DIR": str(git_dir)}
    if work_tree is not None:
        variables["GIT_WORK_TREE"] = str(work_tree)
    else:
        variables["GIT_IMPLICIT_WORK_TREE"] = "0"  # else git takes the directory it runs in for the files
    if index is not None:
        variables["GIT_INDEX_FILE"] = str(index)
    return {**variables, **_number_settings((*SAFE_SETTINGS, *overrides))}


_REACHING = frozenset({"core.askPass", "credential.helper", "protocol.allow"})
"""What of `SAFE` would keep git from a remote that the user can reach."""
_FOR_REMOTES: tuple[Setting, ...] = (
    ("protocol.allow", "never"),  # those that git speaks itself are allowed in the view's configuration
    ("protocol.ext.allow", "never"),
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
)
_OF_THE_USER = frozenset(
    {
        *("GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_NO_VERIFY"),
    }
)
_UNATTENDED: Mapping[str, str] = MappingProxyType(
    {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_IMPLICIT_WORK_TREE": "0",
    }
)


def build_user_environment(
    environ: Mapping[str, str], git_dir: Path | None, overrides: Iterable[Setting], global_config: Path | None = None
) -> dict[str, str]:
    """Build all variables of a git process that speaks with a remote as the user would.

    It has the user's own configuration, credential helpers and agents, but asks nobody, and hooks, filters and the
    like are off as everywhere.

    Args:
        environ: the user's environment; of git's own variables only those count that say how to reach a remote.
        git_dir: the repository; None lets git look for one where it is started.
        overrides: settings that switch off the drivers the repository's own configuration names.
        global_config: a file that stands for the user's own and the system's configuration.
    """
    kept = {}
    for name, value in environ.items():
        if not name.startswith("GIT_") or name in _OF_THE_USER:
            kept[name] = value
    if global_config is not None:
        kept |= {"GIT_CONFIG_GLOBAL": str(global_config), "GIT_CONFIG_NOSYSTEM": "1"}
    places = kept.get("PATH", os.defpath).split(os.pathsep)
    kept["PATH"] = os.pathsep.join(filter(os.path.isabs, places))
    settings = []
    for setting in SAFE_SETTINGS:
        if setting[0] not in _REACHING:
            settings.append(setting)
    kept |= _UNATTENDED
    if git_dir is not None:
        kept["GIT_DIR"] = str(git_dir)
    return {**kept, **_number_settings((*settings, *_FOR_REMOTES, *overrides))}


@lru_cache(maxsize=64)
def _number_settings(settings: tuple[Setting, ...]) -> Mapping[str, str]:
    """Return the variables of the settings; kept, as there are a hundred and every git process has them."""
    variables = {}
    for number, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return {"GIT_CONFIG_COUNT": str(len(variables) // 2), **variables}
