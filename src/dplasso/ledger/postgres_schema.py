"""The table of ledgers in PostgreSQL, and the triggers that let it only grow."""

SCHEMA = """
CREATE TABLE dplasso_budget (
    ledger text NOT NULL,
    sequence bigint NOT NULL CHECK (sequence >= 0),
    id text NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (ledger, sequence),
    UNIQUE (ledger, id)
);
CREATE FUNCTION dplasso_budget_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of a ledger are never changed nor deleted';
END $$;
CREATE FUNCTION dplasso_budget_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.sequence <> (SELECT count(*) FROM dplasso_budget WHERE ledger = NEW.ledger) THEN
        RAISE unique_violation USING MESSAGE = 'entries of a ledger are added at its end';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER dplasso_budget_add BEFORE INSERT ON dplasso_budget
    FOR EACH ROW EXECUTE FUNCTION dplasso_budget_in_order();
CREATE TRIGGER dplasso_budget_keep BEFORE UPDATE OR DELETE ON dplasso_budget
    FOR EACH ROW EXECUTE FUNCTION dplasso_budget_refuse();
CREATE TRIGGER dplasso_budget_whole BEFORE TRUNCATE ON dplasso_budget
    FOR EACH STATEMENT EXECUTE FUNCTION dplasso_budget_refuse();
"""

EXISTS = "SELECT 1 WHERE to_regclass('dplasso_budget') IS NOT NULL"

# Names of the enabled triggers.
TRIGGERS = """SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass('dplasso_budget')
    AND NOT tgisinternal AND tgenabled <> 'D' ORDER BY tgname"""

# Reads whether the server syncs to disk at all. For this transaction, sets commits that are durable
# when they return (stronger settings, such as remote_apply, are kept) and timeouts.
PREPARE = """SELECT current_setting('fsync') = 'on', CASE
    WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
    THEN set_config('synchronous_commit', 'on', true) END,
    set_config('lock_timeout', %s, true)"""
