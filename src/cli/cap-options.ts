import { InvalidArgumentError, Option } from "commander";
import { capFromText } from "../admin/key-terms/cap-text.ts";
import type { CapsBody } from "../admin/key-terms/schema.ts";

/** Can be repeated; `none` removes all caps. */
export function capOption(name: "cap" | "key-cap", help: string): Option {
  return new Option(`--${name} <n/period[:models]|none>`, help).argParser(
    (text: string, before: CapsBody | undefined) => {
      if (text === "none") return [];
      const cap = capFromText(text);
      if (cap !== null)
        return [...(before ?? []), { limit: cap.amount, period: cap.period, models: cap.models }];
      throw new InvalidArgumentError("Use a cap such as 5/day, 100/month or 20/week:claude-opus-*.");
    },
  );
}
