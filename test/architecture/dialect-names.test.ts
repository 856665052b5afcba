import { expect, test } from "bun:test";
import { clientDialectNames, providerDialectNames } from "../../src/dialects/registry.ts";
import { readSources } from "./imports.ts";

/*
 * A dialect is a folder: other modules ask its members, and do not compare its name. These lists are the exceptions, each with its
 * reason. They can only shrink: a file that needs no exception any more has to be removed from its list.
 */

/** Files that name a dialect. A vendor's folder says which dialects it speaks, so vendors are not listed. */
const naming: Readonly<Record<string, string>> = {
  "src/admin/auth/sign-ins/agent-routes.ts": "the sign-in of Claude Code, which reads Anthropic's errors",
  "src/dialects/metered/embeddings/cohere.ts": "a format of embeddings, at a provider of this dialect",
  "src/dialects/metered/embeddings/google.ts": "a format of embeddings, at a provider of this dialect",
  "src/dialects/metered/google-embeddings/index.ts":
    "embeddings for Google's clients, a method in the dialect's paths",
  "src/dialects/metered/rerank/index.ts": "a format of rerank, at a provider of this dialect",
  "src/dialects/metered/route.ts": "metered routes are OpenAI's",
  "src/dialects/reasoning/reasoning-envelope.ts": "makers of reasoning, one of which has a dialect's name",
  "src/dialects/registry.ts": "the registry; errors without a route are OpenAI's",
  "src/dialects/translation/translate.ts": "makers of reasoning, one of which has a dialect's name",
  "src/gateway/batches/message-dialect.ts": "message batches are Anthropic's",
  "src/gateway/turns/storage-settings.ts": "conversations are stored for one dialect",
};

/** Places that import from a dialect's folder. */
const importing: Readonly<Record<string, string>> = {
  "src/dialects/metered/completions/index.ts": "text completions have chat's events",
  "src/dialects/metered/done-reader.ts": "events of metered routes report usage as chat's do",
  "src/dialects/metered/embeddings/google.ts": "Google's names of models",
  "src/dialects/metered/google-embeddings/request.ts":
    "embeddings for Google's clients: paths, and fields in two spellings",
  "src/dialects/registry.ts": "the registry",
  "src/gateway/background/": "responses in the background, a part of the Responses API",
  "src/gateway/conversations/": "stored conversations and compaction, a part of the Responses API",
  "src/gateway/endpoints/": "stored responses and conversations, a part of the Responses API",
  "src/gateway/operations.ts": "compaction, a part of the Responses API",
  "src/gateway/request/": "the items of a conversation that is stored",
  "src/gateway/response/": "the items of a conversation that is stored",
  "src/gateway/turns/": "stored conversations, a part of the Responses API",
  "src/http/socket/": "responses over WebSocket, a part of the Responses API",
  "src/vendors/bedrock/claude-body.ts": "a cloud that takes fewer of Anthropic's fields",
  "src/vendors/claude/cloud-fields.ts": "clouds that take fewer of Anthropic's fields",
  "src/vendors/demo/": "the demo speaks chat",
};

const folders = ["anthropic-messages", "bedrock-converse", "gemini", "openai-chat", "openai-responses"];
const folder = new RegExp(`^src/dialects/(?:${folders.join("|")})/`);

const outside = readSources("src").filter(({ path }) => !folder.test(path));

const names = [...new Set<string>([...clientDialectNames, ...providerDialectNames])].join("|");
/** A name that is compared, looked up or assigned; not a field of a body, such as `["messages"]`. */
const named = new RegExp(
  String.raw`(?:[!=]== |\bcase |\bincludes\(|(?:[dD]ialect|[gG]enerate\w*|\w+For|readWith\w+)\([^"()\n]*|\b(?:\w*[dD]ialects?|kind|client|toward)(?:: | = )\[?|^\s*\[(?="\w+", [A-Z]))"(?:${names})"(?!\])`,
  "m",
);

test("files outside a dialect's folder name no dialect, but for those with a reason", () => {
  const found = outside.filter(({ path, text }) => !path.startsWith("src/vendors/") && named.test(text));
  expect(found.map(({ path }) => path)).toEqual(Object.keys(naming));
});

test("a dialect's folder is imported by the registry, and by those with a reason", () => {
  const found = outside.flatMap(({ path, imports }) =>
    imports.some(({ to }) => folder.test(to)) ? [path] : [],
  );
  const places = found.map((path) => Object.keys(importing).find((place) => path.startsWith(place)) ?? path);
  expect([...new Set(places)]).toEqual(Object.keys(importing));
});

test("a name is found where it decides something, and not where it is a field", () => {
  for (const text of [
    'if (dialect === "chat")',
    'clientDialect("messages").route',
    '  dialect: "responses",',
  ]) {
    expect(named.test(text)).toBe(true);
  }
  for (const text of ['body["messages"]', 'tracedAs: "chat"', 'Pick<Settings, "responses">']) {
    expect(named.test(text)).toBe(false);
  }
});
