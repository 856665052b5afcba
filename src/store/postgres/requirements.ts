import type { Query } from "../query.ts";
import { StoreError } from "../store.ts";

interface Requirement {
  readonly isMet: (value: string) => boolean;
  readonly wanted: string;
  /** The consequence if it is not met. */
  readonly harm: string;
  /**
   * The place where it can be set. A role's settings are set for each session, unless a proxy such as pgbouncer does
   * not pass them on.
   */
  readonly setBy: "server" | "role" | "database";
}

const is = (wanted: string) => (value: string) => value === wanted;

/** Server settings that the ledger's guarantees depend on. */
const requirements: Readonly<Record<string, Requirement>> = {
  fsync: {
    isMet: is("on"),
    wanted: "on",
    harm: "a crash of the server's machine loses charges, or the whole ledger",
    setBy: "server",
  },
  full_page_writes: {
    isMet: is("on"),
    wanted: "on",
    harm: "a crash of the server's machine can leave half-written pages",
    setBy: "server",
  },
  synchronous_commit: {
    isMet: (value) => value === "on" || value === "remote_apply",
    wanted: "on",
    harm: "a crash loses charges that were acknowledged",
    setBy: "role",
  },
  default_transaction_isolation: {
    isMet: is("read committed"),
    wanted: "read committed",
    harm: "requests of one key fail while another is charged",
    setBy: "role",
  },
  extra_float_digits: {
    isMet: (value) => Number(value) >= 1,
    wanted: "1",
    harm: "amounts are rounded",
    setBy: "role",
  },
  bytea_output: { isMet: is("hex"), wanted: "hex", harm: "stored responses cannot be read", setBy: "role" },
  array_nulls: { isMet: is("on"), wanted: "on", harm: "missing numbers are read as text", setBy: "role" },
  server_encoding: {
    isMet: is("UTF8"),
    wanted: "UTF8",
    harm: "text cannot be stored correctly",
    setBy: "database",
  },
};

/** Settings that every connection sets itself, because a role can. */
export const promised: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(requirements).flatMap(([name, { wanted, setBy }]) =>
    setBy === "role" ? [[name, wanted]] : [],
  ),
);

/** Servers whose storage is not local files, so that two settings mean nothing there. */
const hasStorageOfItsOwn = `
EXISTS (SELECT FROM pg_proc WHERE proname = 'aurora_version' AND pronamespace = 'pg_catalog'::regnamespace)
OR EXISTS (SELECT FROM pg_settings WHERE name LIKE 'neon.%')`;
const aboutFiles = ["fsync", "full_page_writes"];

interface Server {
  readonly role: string;
  readonly schema: string | null;
  /** Another schema of this database that contains a ledger; null if none does. */
  readonly otherSchema: string | null;
  readonly hasFiles: boolean;
}

/** Throws for a server that cannot guarantee what Sluice promises, with what to change. */
export async function requireSafeServer(query: Query, name: string): Promise<void> {
  const [server] = await query<Server>(describeServer);
  const settings = await query<{ name: string; value: string }>(
    "SELECT name, setting AS value FROM pg_settings WHERE name = ANY ($1::text[])",
    [Object.keys(requirements)],
  );
  const problems = settings.flatMap(({ name: setting, value }) => {
    const requirement = requirements[setting];
    const applies = server?.hasFiles !== false || !aboutFiles.includes(setting);
    if (requirement === undefined || !applies || requirement.isMet(value)) return [];
    return [
      `${setting} is ${value}, so that ${requirement.harm} (${remedy(setting, requirement, server?.role)})`,
    ];
  });
  if (server !== undefined) problems.push(...problemsOfSchema(server));
  if (problems.length === 0) return;
  throw new StoreError(
    "unsafe_server",
    `The database ${name} does not meet Sluice's requirements: ${problems.join("; ")}. Nothing was changed.`,
  );
}

function remedy(setting: string, { wanted, setBy }: Requirement, role = "…"): string {
  if (setBy === "server") return `ALTER SYSTEM SET ${setting} = ${wanted}; SELECT pg_reload_conf()`;
  const value = wanted.includes(" ") ? `'${wanted}'` : wanted;
  if (setBy === "role") return `ALTER ROLE ${role} SET ${setting} = ${value}, and reconnect`;
  return `CREATE DATABASE … ENCODING '${wanted}' TEMPLATE template0, and use that one`;
}

/** With another search_path the database would look empty, and Sluice would start a second ledger. */
function problemsOfSchema({ role, schema, otherSchema }: Server): readonly string[] {
  if (schema === null)
    return [`the search_path has no existing schema (ALTER ROLE ${role} SET search_path = public)`];
  if (otherSchema === null) return [];
  return [
    `the search_path selects schema ${schema}, but the ledger is in ${otherSchema} (ALTER ROLE ${role} SET search_path = ${otherSchema})`,
  ];
}

const describeServer = `
SELECT quote_ident(current_user) AS role, quote_ident(current_schema()) AS schema, NOT (${hasStorageOfItsOwn}) AS "hasFiles",
  (SELECT quote_ident(min(schemaname)) FROM pg_tables WHERE tablename = 'schema_steps'
    HAVING NOT bool_or(schemaname = current_schema())) AS "otherSchema"`;
