import { InvalidArgumentError, Option } from "commander";
import { capFromText, type WrittenCap } from "../admin/keys/cap-text.ts";

/** Can be repeated; `none` removes all caps. */
export function capOption(name: "cap" | "key-cap", help: string): Option {
  return new Option(`--${name} <n/period[:models]|none>`, help).argParser(
    (text: string, before: readonly WrittenCap[] | undefined) => {
      if (text === "none") return [];
      const cap = capFromText(text);
      if (cap !== null) return [...(before ?? []), cap];
      throw new InvalidArgumentError("Write a cap such as 5/day, 100/month or 20/week:claude-opus-*.");
    },
  );
}
