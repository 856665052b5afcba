import type { CapsBody, CapView, KeyView } from "../../../admin/key-terms/schema.ts";
import { wholeFromText } from "../../../base/text/typed-number.ts";
import { Button } from "../parts/button.tsx";
import { fieldOf, SelectField, type State, TextField } from "../parts/field.tsx";
import { capPeriods, creditsOf } from "./key-form.ts";

/** A cap as typed. */
export interface CapForm {
  readonly limit: string;
  readonly period: CapView["period"];
  readonly models: string;
}

const emptyCap: CapForm = { limit: "", period: "day", models: "" };

/** The caps without their increase for the current period. */
export function capForms(
  caps: readonly (Pick<CapView, "limit" | "period" | "models"> & { readonly raised_by?: number })[],
): CapForm[] {
  return caps.map(({ limit, raised_by = 0, period, models }) => ({
    limit: String(Number((limit - raised_by).toFixed(9))),
    period,
    models: models ?? "",
  }));
}

export function capsOf(forms: readonly CapForm[], mode: KeyView["mode"]): CapsBody {
  return forms.map(({ limit, period, models }) => ({
    limit: amountOf(limit, mode),
    period,
    models: models.trim() === "" ? null : models.trim(),
  }));
}

/** The amount of a cap or of an increase, in credits or tokens. */
export function amountOf(text: string, mode: KeyView["mode"]): number {
  if (mode === "credit") return creditsOf(text);
  const tokens = wholeFromText(text);
  if (tokens === null) throw new Error("Tokens must be a whole number, such as 200,000.");
  return tokens;
}

interface CapFieldsProps {
  readonly title: string;
  readonly hint: string;
  readonly state: State<readonly CapForm[]>;
  readonly mode: KeyView["mode"];
}

/** Fields for any number of caps: amount, period and models. */
export function CapFields({ title, hint, state: [caps, onCaps], mode }: CapFieldsProps) {
  const isCredit = mode === "credit";
  return (
    <fieldset class="cap-fields stack">
      <legend>{title}</legend>
      <small class="muted">{hint}</small>
      {caps.map((cap, place) => {
        const field = (name: keyof CapForm) => fieldOf(cap, (next) => onCaps(caps.with(place, next)), name);
        return (
          <div key={place} class="cap-row">
            <TextField
              label={isCredit ? "Credits" : "Tokens"}
              state={field("limit")}
              inputMode={isCredit ? "decimal" : "numeric"}
              required
            />
            <SelectField label="Period" state={field("period")} choices={capPeriods} />
            <TextField label="Models" state={field("models")} placeholder="all, or claude-*" />
            <Button
              kind="quiet"
              icon="close"
              label={`Remove cap ${place + 1}`}
              onClick={() => onCaps(caps.toSpliced(place, 1))}
            />
          </div>
        );
      })}
      <Button icon="plus" onClick={() => onCaps([...caps, emptyCap])}>
        Add a cap
      </Button>
    </fieldset>
  );
}

export const keyTexts = { title: "Caps", hint: "The most that this key can spend. All caps apply." };
