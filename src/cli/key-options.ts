import { Option } from "commander";
import {
  type AttributeKind,
  budgetPeriods,
  type KeyAttribute,
  type KeyAttributeName,
  type KeyUpdate,
  keyAttributeList,
  keyAttributeNames,
  keyAttributes,
} from "../base/key-attributes.ts";
import { contentLevels } from "../base/requests/content-level.ts";
import { atLeastOne, atLeastZero, expiry, nameList, orWord } from "./arguments.ts";

/** How a value of each kind is typed; what is absent here is taken as it is. */
const parsers: Partial<Record<AttributeKind, (text: string) => unknown>> = {
  models: nameList,
  positive: atLeastOne,
  count: atLeastZero,
  moment: (text) => expiry(text),
};

/** The options for a key's attributes. Only an update takes the word that removes a limit. */
export function keyOptions(verb: "create" | "update"): Record<KeyAttributeName, Option> {
  const options = keyAttributeNames.map((name) => [name, keyOption(keyAttributes[name], verb)]);
  return Object.fromEntries(options);
}

function keyOption({ option, takes, none, kind, help }: KeyAttribute, verb: "create" | "update"): Option {
  const word = verb === "update" && none ? none : null;
  const made = new Option(`--${option} <${word === null ? takes : `${takes}|${word}`}>`, help[verb]);
  if (kind === "period") return made.choices(budgetPeriods);
  if (kind === "content") return made.choices(word === null ? contentLevels : [...contentLevels, word]);
  const parse = parsers[kind];
  if (parse === undefined) return made;
  return made.argParser(word === null ? parse : orWord(word, parse));
}

export function attributesFromOptions(options: object): KeyUpdate {
  const given = new Map<string, unknown>(Object.entries(options));
  const asked = keyAttributeList.flatMap(({ field, option, none, unset }) => {
    const value = given.get(new Option(`--${option}`).attributeName());
    return value === undefined ? [] : [[field, value === none ? unset : value]];
  });
  return Object.fromEntries(asked);
}
