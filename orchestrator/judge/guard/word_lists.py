"""Words of which names are drawn that look like those of a project."""

VERBS = (
    *("accepts", "adds", "applies", "builds", "caches", "changes", "checks", "clears", "closes", "collects"),
    *("compares", "converts", "copies", "counts", "creates", "drops", "encodes", "expands", "exports", "fills"),
    *("filters", "finds", "formats", "groups", "handles", "ignores", "imports", "joins", "keeps", "limits"),
    *("lists", "loads", "maps", "merges", "moves", "opens", "orders", "parses", "prints", "queues"),
    *("reads", "rejects", "removes", "renames", "renders", "replaces", "returns", "rounds", "saves", "sends"),
    *("shows", "skips", "sorts", "splits", "starts", "stops", "strips", "sums", "updates", "writes"),
)
NOUNS = (
    *("account", "address", "amount", "archive", "batch", "border", "branch", "budget", "buffer", "button"),
    *("cache", "chart", "client", "clock", "column", "config", "cookie", "country", "currency", "cursor"),
    *("customer", "device", "digest", "document", "domain", "event", "export", "feed", "field", "filter"),
    *("folder", "grid", "header", "image", "index", "invoice", "label", "layer", "ledger", "letter"),
    *("market", "matrix", "member", "message", "metric", "module", "number", "option", "order", "packet"),
    *("parcel", "payment", "period", "picture", "price", "profile", "record", "report", "route", "schema"),
)
OBJECTS = (
    *("area", "block", "chain", "count", "date", "entry", "error", "factor", "frame", "group"),
    *("handle", "hint", "item", "key", "level", "line", "link", "list", "lock", "mark"),
    *("name", "node", "note", "page", "pair", "part", "path", "point", "pool", "queue"),
    *("range", "rank", "rate", "row", "rule", "scale", "scope", "section", "set", "shape"),
    *("size", "slot", "sort", "source", "state", "step", "store", "style", "sum", "table"),
    *("tag", "target", "text", "time", "title", "token", "total", "type", "unit", "value"),
)
