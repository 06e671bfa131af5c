CREATE TABLE event(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, v INTEGER NOT NULL,
    task TEXT, session TEXT, key TEXT, body TEXT NOT NULL, sum BLOB
);
CREATE UNIQUE INDEX event_once ON event(kind, key) WHERE key IS NOT NULL;
CREATE INDEX event_of_session ON event(session, seq) WHERE session IS NOT NULL;
CREATE TABLE projection(name TEXT PRIMARY KEY, seq INTEGER NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL, sum BLOB);
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE INDEX event_of_engine ON event(seq) WHERE kind = 'engine.started';
CREATE TABLE fence(
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL,
    seq INTEGER NOT NULL, sum BLOB NOT NULL
);
INSERT INTO fence VALUES(1, 0, '', 0, x'0000000000000000');
PRAGMA user_version = 2;
PRAGMA application_id = 1332896514;
