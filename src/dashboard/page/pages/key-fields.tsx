import type { KeyView, ModelView, Page } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Field, SelectField, TextField } from "../parts/field.tsx";
import type { KeyForm } from "./key-form.ts";

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly mode: KeyView["mode"];
  readonly onForm: (form: KeyForm) => void;
}

const periods = [
  { value: "day", text: "a day" },
  { value: "week", text: "a week" },
  { value: "month", text: "a month" },
  { value: "none", text: "in all" },
];

export function KeyFields({ form, mode, onForm }: KeyFieldsProps) {
  const models = useLoaded("models", () => api.get<Page<ModelView>>("/models"));
  const providers = [...new Set(models.value?.data.map((model) => model.provider))];
  const scopes = [...new Set(["all", ...providers, form.scope])];
  const set = (name: keyof KeyForm) => (value: string) => onForm({ ...form, [name]: value });
  return (
    <>
      <TextField label="Label" value={form.label} onValue={set("label")} placeholder="Who or what uses it" />
      {mode === "token_budget" && (
        <div class="pair">
          <TextField
            label="Token budget"
            value={form.budget}
            onValue={set("budget")}
            inputMode="numeric"
            placeholder="no limit"
          />
          <SelectField label="Renewed" value={form.period} choices={periods} onValue={set("period")} />
        </div>
      )}
      <div class="pair">
        <SelectField
          label="Provider scope"
          value={form.scope}
          choices={scopes.map((name) => ({ value: name, text: name === "all" ? "all providers" : name }))}
          onValue={set("scope")}
        />
        <TextField
          label="Requests a minute"
          value={form.rpm}
          onValue={set("rpm")}
          inputMode="numeric"
          placeholder="no limit"
        />
      </div>
      <TextField
        label="Models"
        value={form.models}
        onValue={set("models")}
        placeholder="all"
        hint="Names with commas between them; empty means all."
      />
      <Field label="Expires" hint="At the end of that day, UTC; empty means never.">
        {(id) => (
          <input
            id={id}
            type="date"
            value={form.expires}
            onInput={(event) => set("expires")(event.currentTarget.value)}
          />
        )}
      </Field>
    </>
  );
}
