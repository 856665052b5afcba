import { homedir } from "node:os";
import { join } from "node:path";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import {
  type ClientConnection,
  type ClientFileFormat,
  digestOf,
  type EditedFile,
  UnreadableClientFile,
  type WrittenSetting,
} from "./client-edit.ts";
import { removeMember, setMember } from "./json-text.ts";

/** Claude Code's `settings.json`, with environment variables that Claude Code sets for itself. */
export const claudeSettings: ClientFileFormat = {
  path: (env) => join(env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude"), "settings.json"),
  // From 2.1.317 to 2.1.327.
  defaultModels: ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"],
  modelIn,
  write: writeSettings,
  remove: removeSettings,
};

/** Claude Code signs in at the gateway by itself: no key is in the file. */
export const claudeSignIn: ClientFileFormat = { ...claudeSettings, write: writeSignIn };

export function signInSettings(address: string): Readonly<Record<string, string>> {
  return { forceLoginMethod: "gateway", forceLoginGatewayUrl: address };
}

function writeSignIn(content: string, { address }: ClientConnection): EditedFile {
  let text = content.trim() === "" ? "{}\n" : content;
  const parsed = parse(text);
  const settings: WrittenSetting[] = [];
  for (const [name, value] of Object.entries(signInSettings(address))) {
    text = setMember(text, [name], value);
    settings.push({ name, digest: digestOf(JSON.stringify(value)), before: parsed[name] ?? null });
  }
  expectSame(text, { ...parsed, ...signInSettings(address) });
  return { text, settings };
}

/** Variables with which Claude Code does not sign in, as far as these settings have them. */
export function variablesInTheWay(text: string): readonly string[] {
  const variables = text.trim() === "" ? {} : variablesOf(parse(text));
  return ["ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"].filter(
    (name) => name in variables,
  );
}

function variablesFor({ address, key, model }: ClientConnection): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_AUTH_TOKEN: key,
    // Claude Code uses a separate model for small tasks.
    ...(model === null ? {} : { ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: model }),
  };
}

function parse(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new UnreadableClientFile(`it is not valid JSON (${(error as Error).message})`);
  }
  if (!isObject(parsed)) throw new UnreadableClientFile("it is not a JSON object");
  if (parsed["env"] !== undefined && !isObject(parsed["env"])) {
    throw new UnreadableClientFile("its `env` is not an object");
  }
  return parsed;
}

/** Aliases such as `opus` are the client's own, which resolves them to its defaults. */
function modelIn(text: string): string | null {
  if (text.trim() === "") return null;
  const parsed = parse(text);
  const model = variablesOf(parsed)["ANTHROPIC_MODEL"] ?? parsed["model"];
  return typeof model === "string" && /[-/.]/.test(model) ? model : null;
}

function variablesOf({ env }: JsonObject): JsonObject {
  return isObject(env) ? env : {};
}

function writeSettings(content: string, connection: ClientConnection): EditedFile {
  let text = content.trim() === "" ? "{}\n" : content;
  const parsed = parse(text);
  const before = variablesOf(parsed);
  const settings: WrittenSetting[] = [];
  if (parsed["env"] === undefined) {
    text = setMember(text, ["env"], {});
    settings.push({ name: "env", digest: digestOf("{}"), before: null });
  }
  const variables = variablesFor(connection);
  for (const [name, value] of Object.entries(variables)) {
    text = setMember(text, ["env", name], value);
    const digest = digestOf(JSON.stringify(value));
    settings.push({ name: `env.${name}`, digest, before: before[name] ?? null });
  }
  expectSame(text, { ...parsed, env: { ...before, ...variables } });
  return { text, settings };
}

function removeSettings(content: string, settings: readonly WrittenSetting[]): string {
  let text = content;
  // In reverse order, so that the `env` object is removed last, and only if it is empty by then.
  for (const { name, digest, before } of settings.toReversed()) {
    const path = name.split(".");
    const current = valueAt(parse(text), path);
    if (current === undefined || digestOf(JSON.stringify(current)) !== digest) continue;
    text = before === null ? removeMember(text, path) : setMember(text, path, before);
  }
  parse(text);
  return text;
}

function valueAt(parsed: JsonObject, [name = "", variable]: readonly string[]): Json | undefined {
  return variable === undefined ? parsed[name] : variablesOf(parsed)[variable];
}

function expectSame(text: string, expected: JsonObject): void {
  if (!Bun.deepEquals(parse(text), expected)) {
    throw new UnreadableClientFile("its layout is not one that can be changed safely");
  }
}
