import { InvalidArgumentError, Option } from "commander";
import type { KeyChangesBody } from "../admin/keys/schema.ts";
import { iso } from "../admin/moments.ts";
import {
  type AttributeKind,
  budgetPeriods,
  type KeyAttribute,
  type KeyAttributeName,
  keyAttributeList,
  keyAttributeNames,
  keyAttributes,
} from "../base/key-attributes.ts";
import { type TpmLimit, tpmFromText } from "../base/models/tpm-limit.ts";
import { contentLevels } from "../base/requests/content-level.ts";
import { type Tags, tagsFromTexts } from "../base/requests/labels.ts";
import { atLeastZero, expiry, nameList, orWord, requestLimit } from "./arguments.ts";

/** Parsers by kind; values of other kinds are taken as they are. */
const parsers: Partial<Record<AttributeKind, (text: string) => unknown>> = {
  models: nameList,
  positive: requestLimit,
  count: atLeastZero,
  moment: (text) => expiry(text),
};

type ListKind = "tpm" | "tags";

/** Repeatable options: how the next value is added to the earlier ones. */
const adders: Readonly<Record<ListKind, (text: string, before: unknown) => unknown>> = {
  tpm: (text, before) => {
    const tpm = tpmFromText(text);
    if (tpm === null) throw new InvalidArgumentError("Use a limit such as 60000 or 20000:claude-opus-*.");
    return [...((before ?? []) as readonly TpmLimit[]), tpm];
  },
  tags: (text, before) => {
    const added = tagsFromTexts([text]);
    const tags = (before ?? {}) as Tags;
    const [name = ""] = Object.keys(added ?? {});
    if (added === null || Object.hasOwn(tags, name)) {
      throw new InvalidArgumentError("Use a tag such as project=atlas, each name once.");
    }
    return { ...tags, ...added };
  },
};

/** The options for a key's attributes. Only an update accepts the word that removes a limit. */
export function keyOptions(verb: "create" | "update"): Record<KeyAttributeName, Option> {
  const options = keyAttributeNames.map((name) => [name, keyOption(keyAttributes[name], verb)]);
  return Object.fromEntries(options);
}

/** The opposites of flags, for an update. */
export function oppositeOptions(): readonly Option[] {
  const flags = keyAttributeList.filter(({ kind }) => kind === "flag");
  return flags.map(({ option }) => new Option(`--no-${option}`, `removes --${option}`));
}

function keyOption({ option, takes, none, kind, help }: KeyAttribute, verb: "create" | "update"): Option {
  if (kind === "flag") return new Option(`--${option}`, help[verb]);
  const word = verb === "update" && none ? none : null;
  const created = new Option(`--${option} <${word === null ? takes : `${takes}|${word}`}>`, help[verb]);
  if (kind === "period") return created.choices(budgetPeriods);
  if (kind === "content") return created.choices(word === null ? contentLevels : [...contentLevels, word]);
  if (kind === "tpm" || kind === "tags") return created.argParser(orNone(word, adders[kind]));
  const parse = parsers[kind];
  if (parse === undefined) return created;
  return created.argParser(word === null ? parse : orWord(word, parse));
}

function orNone(word: string | null, add: (text: string, before: unknown) => unknown) {
  return (text: string, before: unknown) => {
    if (text === word) return word;
    return add(text, before === word ? undefined : before);
  };
}

/** The options that accounts have, too. */
export function sharedOptions(verb: "create" | "update"): readonly Option[] {
  return [keyAttributes.tpm_limits, keyAttributes.tags].map((attribute) => keyOption(attribute, verb));
}

/** The attributes of an operation's body that the options set. */
export function attributesFromOptions(options: object): KeyChangesBody {
  const optionValues = new Map<string, unknown>(Object.entries(options));
  const fields = keyAttributeNames.flatMap((name) => {
    const { option, none, unset, kind }: KeyAttribute = keyAttributes[name];
    const value = optionValues.get(new Option(`--${option}`).attributeName());
    if (value === undefined) return [];
    if (value === none) return [[name, unset]];
    return [[name, kind === "moment" ? iso(Number(value)) : value]];
  });
  return Object.fromEntries(fields);
}
