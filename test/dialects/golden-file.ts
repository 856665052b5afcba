import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../../src/base/json.ts";
import type { Source } from "../../src/dialects/contract/client-dialect.ts";
import type { Target } from "../../src/dialects/contract/provider-dialect.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import type { Translation } from "../../src/dialects/translation/translation.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";

/**
 * A golden file is one translation: a first line that says what it proves, the pair, perhaps what is special
 * about the target, and then sections, each behind a line of dashes:
 *
 *   client sends → provider receives, dropped, or refused
 *   provider answers → client receives        (one JSON body each)
 *   provider streams → client reads           (server-sent events as text)
 */
export interface Golden {
  readonly file: string;
  readonly title: string;
  readonly client: BodyDialectName;
  readonly target: Target;
  readonly sections: ReadonlyMap<string, string>;
}

export const goldenFolder = join(import.meta.dir, "golden");

export function readGoldens(): Golden[] {
  const files = readdirSync(goldenFolder).filter((file) => file.endsWith(".txt"));
  return files.sort().map((file) => parseGolden(file, readFileSync(join(goldenFolder, file), "utf8")));
}

export function parseGolden(file: string, text: string): Golden {
  const [head = "", ...rest] = text.split(/^--- /m);
  const [title = "", pair = "", special = "target: {}"] = head.trim().split("\n");
  const [client, provider] = pair.split(" -> ") as [BodyDialectName, ProviderDialectName];
  const sections = new Map<string, string>();
  for (const section of rest) {
    const end = section.indexOf("\n");
    sections.set(section.slice(0, end).trim(), section.slice(end + 1));
  }
  const overrides: Partial<Target> = JSON.parse(special.slice("target: ".length));
  return { file, title, client, target: { ...usualTargets[provider], ...overrides }, sections };
}

const usual = {
  provider: "p",
  maxOutputTokens: null,
  maxTokensField: "max_tokens",
  streamUsage: true,
  capabilities: {},
} as const;

export const usualTargets: Readonly<Record<ProviderDialectName, Target>> = {
  chat: { ...usual, dialect: providerDialect("chat"), isStrict: false, upstreamModel: "open-model" },
  messages: {
    ...usual,
    dialect: providerDialect("messages"),
    isStrict: true,
    upstreamModel: "claude-sonnet-4-6",
  },
  gemini: {
    ...usual,
    dialect: providerDialect("gemini"),
    isStrict: true,
    upstreamModel: "gemini-3.1-pro-preview",
  },
  responses: { ...usual, dialect: providerDialect("responses"), isStrict: true, upstreamModel: "gpt-5.6" },
  converse: {
    ...usual,
    dialect: providerDialect("converse"),
    isStrict: true,
    upstreamModel: "eu.anthropic.claude-sonnet-4-6-20260101-v1:0",
  },
};

/** The translation that the file is about, with ids that count instead of being random. */
export function translationOf(golden: Golden, body: JsonObject): Translation {
  const source: Source = {
    dialect: clientDialect(golden.client),
    body,
    model: "house-model",
    nowSeconds: 1_800_000_000,
    estimatedInputTokens: 42,
  };
  let minted = 0;
  const mint = (prefix: string) => {
    minted += 1;
    return `${prefix}${minted}`;
  };
  return translate(source, golden.target, mint, { wallMs: () => 1_800_000_009_000 });
}

export function jsonSection(golden: Golden, name: string): JsonObject | null {
  const text = golden.sections.get(name);
  return text === undefined ? null : JSON.parse(text);
}

/** JSON with a line for each thing that is worth one. */
export function pretty(value: Json | undefined, indent = ""): string {
  const flat = JSON.stringify(value);
  if (value === null || typeof value !== "object" || flat.length + indent.length <= 100) return flat;
  const deeper = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((entry) => deeper + pretty(entry, deeper))
    : Object.entries(value).map(
        ([name, entry]) => `${deeper}${JSON.stringify(name)}: ${pretty(entry, deeper)}`,
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}
