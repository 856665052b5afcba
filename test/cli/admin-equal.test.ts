import { expect, test } from "bun:test";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { startAdmin } from "../admin/routes/fixtures.ts";

/** What the command line and the admin API can both do: the command, and the operations that are its equal. */
const equals: Readonly<Record<string, readonly string[]>> = {
  "keys create": ["POST /keys"],
  "keys list": ["GET /keys"],
  "keys show": ["GET /keys/{key}"],
  "keys update": ["PATCH /keys/{key}"],
  "keys topup": ["POST /keys/{key}/topup"],
  "keys adjust": ["POST /keys/{key}/adjust"],
  "keys raise-cap": ["POST /keys/{key}/raise-cap"],
  "keys move": ["POST /keys/{key}/move"],
  "keys rotate": ["POST /keys/{key}/rotate"],
  "keys enable": ["POST /keys/{key}/enable"],
  "keys disable": ["POST /keys/{key}/disable"],
  "keys suspend": ["POST /keys/{key}/suspend"],
  "keys revoke": ["POST /keys/{key}/revoke"],
  "accounts create": ["POST /accounts"],
  "accounts list": ["GET /accounts"],
  "accounts show": ["GET /accounts/{account}"],
  "accounts update": ["PATCH /accounts/{account}"],
  "accounts topup": ["POST /accounts/{account}/topup"],
  "accounts adjust": ["POST /accounts/{account}/adjust"],
  "accounts close": ["POST /accounts/{account}/close"],
  statement: ["GET /statement"],
  usage: ["GET /usage", "GET /overview"],
  reconcile: ["POST /reconcile"],
  "requests list": ["GET /requests"],
  "requests show": ["GET /requests/{id}", "GET /requests/{id}/content"],
  "requests export": ["GET /content/export", "GET /content"],
  "content delete": ["DELETE /content", "DELETE /requests/{id}/content"],
  "models list": ["GET /models"],
  "models check": ["POST /models/check"],
  "ledger export": ["GET /entries"],
  "admin-tokens create": ["POST /admin-tokens"],
  "admin-tokens list": ["GET /admin-tokens"],
  "admin-tokens revoke": ["POST /admin-tokens/{token}/revoke"],
  "audit-log": ["GET /audit"],
  "config show": ["GET /config", "GET /config/toml"],
  "config diff": ["GET /config/check"],
  "config reload": ["POST /config/reload"],
  "store size": ["GET /storage"],
  nodes: ["GET /nodes"],
  health: ["GET /health"],
  status: ["GET /alerts"],
};

const onThisMachine = "works with files or processes of the machine that it runs on";
const readsEverything = "reads the whole history, which would hold up the requests of a gateway";
const nothingToDo = "tells about the program itself";

const onlyCommands: Readonly<Record<string, string>> = {
  serve: onThisMachine,
  "config init": onThisMachine,
  "models discover": onThisMachine,
  connect: onThisMachine,
  login: onThisMachine,
  "config check": onThisMachine,
  "config import litellm": onThisMachine,
  "models import": onThisMachine,
  backup: onThisMachine,
  restore: onThisMachine,
  "store check": onThisMachine,
  "store copy": onThisMachine,
  "store reopen": onThisMachine,
  "content rekey": onThisMachine,
  "ledger audit": readsEverything,
  "responses list": "conversations are their key's; clients list and delete them by the Responses API",
  "responses delete": "conversations are their key's; clients list and delete them by the Responses API",
  "alerts test": "is tried where the configuration is written, before the gateway runs with it",
  "config schema": nothingToDo,
  completion: nothingToDo,
  version: nothingToDo,
};

const ofASession = "is how a browser signs in; a command has the database";
const ofAPerson = "is for the person who is signed in: a command approves nothing in somebody's name";
const ofTheProcess = "shows what only the running process knows";

const onlyOperations: Readonly<Record<string, string>> = {
  "GET /session": ofASession,
  "POST /session": ofASession,
  "DELETE /session": ofASession,
  "GET /device": ofAPerson,
  "POST /device/approve": ofAPerson,
  "POST /device/deny": ofAPerson,
  "GET /tail": ofTheProcess,
  "GET /setup": ofTheProcess,
  "GET /routes": nothingToDo,
  "GET /openapi.json": nothingToDo,
};

type Program = ReturnType<typeof buildProgram>;

function commandsOf(program: Program): string[] {
  if (program.commands.length > 0) return program.commands.flatMap(commandsOf);
  return [fullName(program).replace("sluice ", "")];
}

test("whatever the command line can do the admin API can, and the reverse, but for what is listed", async () => {
  await using admin = await startAdmin();
  const base = "/admin/api/v1";
  const { paths } = await admin.json<{ paths: Record<string, object> }>("/openapi.json");
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(`${base}/`))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.slice(base.length)}`),
    );
  const commands = commandsOf(buildProgram({} as Terminal));
  expect(commands.toSorted()).toEqual([...Object.keys(equals), ...Object.keys(onlyCommands)].sort());
  expect(operations.toSorted()).toEqual(
    [...Object.values(equals).flat(), ...Object.keys(onlyOperations)].sort(),
  );
});
