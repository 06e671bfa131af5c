"""Write SARIF 2.1.0, which code scanning services read: logs of one tool with one run, and the sites of a migration."""

from collections.abc import Iterable, Iterator
from typing import Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from orchestrator.report.migration.site_check import CheckedSite, SiteCheckReport
from orchestrator.report.read_model import Omittable, ReadModel

SarifLevel = Literal["error", "warning", "note"]


class SarifObject(ReadModel):
    """An object of the format, whose names are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class SarifText(SarifObject):
    """Words for a person."""

    text: str


class SarifRule(SarifObject):
    """A rule that results name by its id."""

    id: str
    short_description: SarifText


class SarifDriver(SarifObject):
    """This program, with the rules that a log has results of."""

    name: Literal["orchestrate"] = "orchestrate"
    version: str
    rules: tuple[SarifRule, ...]


class SarifTool(SarifObject):
    """The tool of a run."""

    driver: SarifDriver


class SarifArtifact(SarifObject):
    """A file of the repository, as a relative URI."""

    uri: str


class SarifRegion(SarifObject):
    """A place in a file; lines and columns count from 1."""

    start_line: int
    start_column: Omittable[int] = None


class SarifPhysicalLocation(SarifObject):
    """A file, or a region of it."""

    artifact_location: SarifArtifact
    region: Omittable[SarifRegion] = None


class SarifLocation(SarifObject):
    """A place that a result is about."""

    physical_location: SarifPhysicalLocation


class SarifSuppression(SarifObject):
    """The reason for which a result asks for nothing any more."""

    kind: Literal["external"] = "external"
    justification: str


class SarifResultProperties(SarifObject):
    """The work that a result was found in."""

    task: str
    attempt: int


class SarifResult(SarifObject):
    """One finding."""

    rule_id: str
    level: SarifLevel
    message: SarifText
    properties: Omittable[SarifResultProperties] = None
    locations: Omittable[tuple[SarifLocation, ...]] = None
    related_locations: Omittable[tuple[SarifLocation, ...]] = None
    suppressions: Omittable[tuple[SarifSuppression, ...]] = None
    baseline_state: Omittable[Literal["new", "unchanged"]] = None


class SarifAutomation(SarifObject):
    """The name under which services compare logs."""

    id: str


class SarifRunProperties(SarifObject):
    """The run that was judged, and how many of its results the log lacks."""

    run: str
    outcome: str
    base: str
    head: str | None
    results_left_out: int


class SarifRun(SarifObject):
    """The results of one run of the tool."""

    tool: SarifTool
    column_kind: Literal["unicodeCodePoints"] = "unicodeCodePoints"
    automation_details: Omittable[SarifAutomation] = None
    properties: Omittable[SarifRunProperties] = None
    results: tuple[SarifResult, ...]


class SarifLog(SarifObject):
    """A log of one run."""

    schema_uri: Literal["https://json.schemastore.org/sarif-2.1.0.json"] = Field(
        default="https://json.schemastore.org/sarif-2.1.0.json", alias="$schema"
    )
    version: Literal["2.1.0"] = "2.1.0"
    runs: tuple[SarifRun, ...]


def build_sarif_tool(version: str, rules: Iterable[tuple[str, str]]) -> SarifTool:
    """Return this program in its `version`; `rules` are ids with a description."""
    described = tuple(SarifRule(id=name, short_description=SarifText(text=text)) for name, text in rules)
    return SarifTool(driver=SarifDriver(version=version, rules=described))


def build_sarif_location(path: str, line: int | None = None, column: int | None = None) -> SarifLocation:
    """Return a place in a file of the repository; lines and columns count from 1, None means the whole file or line."""
    region = None
    if line is not None:
        region = SarifRegion(start_line=line, start_column=column)
    artifact = SarifArtifact(uri=quote(path, errors="replace"))
    return SarifLocation(physical_location=SarifPhysicalLocation(artifact_location=artifact, region=region))


def build_site_check_sarif(report: SiteCheckReport, version: str) -> SarifLog:
    """Return the log of one check: a result for each site, an error where its kind has too many."""
    results = tuple(_build_result(site, report.since) for site in report.sites)
    return SarifLog(runs=(SarifRun(tool=build_sarif_tool(version, _iterate_rules(report)), results=results),))


def _iterate_rules(report: SiteCheckReport) -> Iterator[tuple[str, str]]:
    for kind in report.limits:
        yield kind.site, f"a site of kind {kind.site}: {kind.pattern}"


def _build_result(site: CheckedSite, since: str) -> SarifResult:
    level: SarifLevel = "note"
    state: Literal["new", "unchanged"] = "unchanged"
    news = ""
    if site.is_over:
        level = "error"
    if site.news:
        state, news = "new", f" ({site.news} since {since})"
    return SarifResult(
        rule_id=site.site,
        level=level,
        message=SarifText(text=f"{site.site}{news}: {site.text}"),
        locations=(build_sarif_location(site.path, site.line, site.column),),
        baseline_state=state if since else None,
    )
