import { InvalidArgumentError, Option } from "commander";
import { iso } from "../admin/moments.ts";
import {
  type AttributeKind,
  budgetPeriods,
  type KeyAttribute,
  type KeyAttributeName,
  keyAttributeNames,
  keyAttributes,
} from "../base/key-attributes.ts";
import { type TpmLimit, tpmFromText } from "../base/models/tpm-limit.ts";
import { contentLevels } from "../base/requests/content-level.ts";
import { type Tags, tagsFromTexts } from "../base/requests/labels.ts";
import { atLeastZero, expiry, nameList, removed, requestLimit } from "./arguments.ts";

/** Parsers by kind; values of other kinds are used unchanged. */
const parsers: Partial<Record<AttributeKind, (text: string) => unknown>> = {
  models: nameList,
  positive: requestLimit,
  count: atLeastZero,
  moment: (text) => iso(expiry(text)),
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

/** The options for a key's attributes. Only an update accepts the word that removes a limit, or a flag's opposite. */
export function keyOptions(verb: "create" | "update"): Record<KeyAttributeName, Option | readonly Option[]> {
  return Object.fromEntries(
    keyAttributeNames.map((name) => {
      const { kind, option } = keyAttributes[name];
      const made = attributeOption(name, verb);
      const isSwitch = kind === "flag" && verb === "update";
      return [name, isSwitch ? [made, new Option(`--no-${option}`, `removes --${option}`)] : made];
    }),
    // Every name has its entry.
  ) as Record<KeyAttributeName, Option | readonly Option[]>;
}

/** The option that sets an attribute, which accounts have with a help of their own. */
export function attributeOption(
  name: KeyAttributeName,
  verb: "create" | "update",
  about: string = keyAttributes[name].help[verb],
): Option {
  const { option, takes, none, kind, unset }: KeyAttribute = keyAttributes[name];
  if (kind === "flag") return new Option(`--${option}`, about);
  const word = verb === "update" && none ? none : null;
  const made = new Option(`--${option} <${word === null ? takes : `${takes}|${word}`}>`, about);
  const parse = parsers[kind];
  if (kind === "period") made.choices(budgetPeriods);
  else if (kind === "content") made.choices(word === null ? contentLevels : [...contentLevels, word]);
  else if (kind === "tpm" || kind === "tags") made.argParser(adders[kind]);
  else if (parse !== undefined) made.argParser(parse);
  return verb === "update" && none !== undefined ? orWord(made, none, unset ?? removed) : made;
}

/** Accepts one word besides its values, which stands for another value. */
function orWord(option: Option, word: string, value: unknown): Option {
  const { parseArg } = option;
  return option.argParser((text: string, before: unknown) => {
    if (text === word) return value;
    return parseArg === undefined ? text : parseArg(text, before === value ? undefined : before);
  });
}
