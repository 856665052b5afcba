import type { KeyView } from "../../../admin/views.ts";
import { Button } from "../parts/button.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { type CapForm, emptyCap } from "./cap-form.ts";
import { budgetPeriods } from "./key-form.ts";

interface CapFieldsProps {
  readonly title: string;
  readonly hint: string;
  readonly caps: readonly CapForm[];
  readonly mode: KeyView["mode"];
  readonly onCaps: (caps: readonly CapForm[]) => void;
}

const periods = budgetPeriods.filter(({ value }) => value !== "none");

/** Any number of caps: how much, in which time, for which models. */
export function CapFields({ title, hint, caps, mode, onCaps }: CapFieldsProps) {
  const change = (place: number, changes: Partial<CapForm>) =>
    onCaps(caps.map((cap, index) => (index === place ? { ...cap, ...changes } : cap)));
  return (
    <fieldset class="cap-fields">
      <legend>{title}</legend>
      <p class="hint">{hint}</p>
      {caps.map((cap, place) => (
        <div key={place} class="cap-row">
          <TextField
            label={mode === "credit" ? "Credits" : "Tokens"}
            value={cap.limit}
            inputMode={mode === "credit" ? "decimal" : "numeric"}
            onValue={(limit) => change(place, { limit })}
          />
          <SelectField
            label="Time"
            value={cap.period}
            choices={periods}
            onValue={(value) => change(place, { period: value as CapForm["period"] })}
          />
          <TextField
            label="Models"
            value={cap.models}
            placeholder="all, or claude-*"
            onValue={(models) => change(place, { models })}
          />
          <Button
            kind="quiet"
            icon="close"
            label={`Remove cap ${place + 1}`}
            onClick={() => onCaps(caps.filter((_, index) => index !== place))}
          />
        </div>
      ))}
      <Button icon="plus" onClick={() => onCaps([...caps, emptyCap])}>
        Add a cap
      </Button>
    </fieldset>
  );
}

/** The caps of one key. */
export function KeyCaps(props: Pick<CapFieldsProps, "caps" | "mode" | "onCaps">) {
  return (
    <CapFields title="Caps" hint="The most that this key may take. All of them hold at once." {...props} />
  );
}
