import { expect, test } from "bun:test";
import { operationsOf } from "../../src/admin/api/operations.ts";
import type { AdminDeps } from "../../src/admin/deps.ts";
import type { AdminRoute } from "../../src/admin/routes/route.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { startAdmin } from "../admin/routes/fixtures.ts";
import { entriesOf, equals } from "./admin-equals.ts";

const onThisMachine = "works with files or processes of the machine that it runs on";
const nothingToDo = "tells about the program itself";

const onlyCommands: Readonly<Record<string, string>> = {
  serve: onThisMachine,
  "config init": onThisMachine,
  "models discover": onThisMachine,
  connect: onThisMachine,
  login: onThisMachine,
  "gateways add": onThisMachine,
  "gateways use": onThisMachine,
  "gateways list": onThisMachine,
  "gateways remove": onThisMachine,
  logout: onThisMachine,
  token: onThisMachine,
  "config check": onThisMachine,
  "config import litellm": onThisMachine,
  "models import": onThisMachine,
  backup: onThisMachine,
  doctor: onThisMachine,
  restore: onThisMachine,
  "store check": onThisMachine,
  "store copy": onThisMachine,
  "store export": onThisMachine,
  "store import": onThisMachine,
  "store reopen": onThisMachine,
  "content rekey": onThisMachine,
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
  "POST /playground/keys": "is for a page, which has no key's secret; a command can create a key",
  "GET /tail": ofTheProcess,
  "GET /setup": ofTheProcess,
  "GET /providers/check": "is one of the checks of `doctor`",
  "GET /routes": nothingToDo,
  "GET /models/brief": "is what `GET /models` says, shortened for a page",
  "GET /openapi.json": nothingToDo,
};

type Program = ReturnType<typeof buildProgram>;

function commandsOf(program: Program): string[] {
  if (program.commands.length > 0) return program.commands.flatMap(commandsOf);
  return [fullName(program).replace("sluice ", "")];
}

/** What the operation takes in its path, its query and its body. */
function takenBy(route: AdminRoute): string[] {
  const body = route.method === "GET" ? undefined : route.body;
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
  return [...inPath, ...Object.keys({ ...route.query?.properties, ...body?.["properties"] })];
}

test("a command that performs one operation sets fields that the operation has", () => {
  const routes = operationsOf({} as AdminDeps);
  const entries = entriesOf(buildProgram({} as Terminal));
  expect(entries.length).toBeGreaterThan(30);
  for (const [command, { call, fields }] of entries) {
    const route = routes.find(({ method, path }) => `${method} ${path}` === call);
    expect({ command, call, isServed: route !== undefined }).toEqual({ command, call, isServed: true });
    const taken = route === undefined ? [] : takenBy(route);
    expect({ command, unknown: fields.filter((name) => !taken.includes(name)) }).toEqual({
      command,
      unknown: [],
    });
  }
});

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
