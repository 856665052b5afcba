import type { CapByValueView, NewCapBody } from "../../../admin/caps/schema.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import { wholeFromText } from "../../../base/text/typed-number.ts";
import { amountOf } from "../pages/cap-fields.tsx";
import { capPeriods } from "../pages/key-form.ts";
import { choicesOf } from "../parts/choose.tsx";
import { fieldOf, SelectField, TextField } from "../parts/field.tsx";

/** A cap by value as typed. */
export interface CapForm {
  readonly limit: string;
  readonly period: string;
  readonly models: string;
  readonly then: string;
  readonly thenAlways: string;
  readonly values: string;
}

const emptyTerms: CapForm = {
  ...{ limit: "", period: "day", models: "", then: "", thenAlways: "no", values: "" },
};

export function formOfCap({ limit, period, models, then, then_always, values }: CapByValueView): CapForm {
  return {
    limit: String(limit),
    period,
    models: models ?? "",
    then: then ?? "",
    thenAlways: then_always ? "yes" : "no",
    values: String(values),
  };
}

type Mode = KeyView["mode"];
type Terms = Pick<NewCapBody, "limit" | "period" | "models" | "then" | "then_always">;

/** Without a model to run instead, `always` has no meaning. */
export function termsOf(form: CapForm, mode: Mode): Terms {
  const then = form.then.trim();
  return {
    limit: amountOf(form.limit, mode),
    // One of the choices.
    period: form.period as NewCapBody["period"],
    models: form.models.trim() || null,
    then: then || null,
    ...(then !== "" && { then_always: form.thenAlways === "yes" }),
  };
}

/** The number of values that the cap counts. An empty field leaves it unchanged. */
export function valuesOf({ values }: Pick<CapForm, "values">): Pick<NewCapBody, "values"> {
  if (values.trim() === "") return {};
  const whole = wholeFromText(values);
  if (whole === null) throw new Error("How many values: use a whole number from 1 to 10,000.");
  return { values: whole };
}

const always = {
  no: "Reject requests that continue a stored response or have a cached prompt",
  yes: "Run these on that model, too",
};

interface TermsProps<Form extends CapForm> {
  readonly form: Form;
  readonly onForm: (form: Form) => void;
  readonly mode: Mode;
  readonly isEach: boolean;
}

/** Fields that can be changed later: the limit, the model beyond it, and the number of values. */
export function TermFields<Form extends CapForm>({ form, onForm, mode, isEach }: TermsProps<Form>) {
  const field = (name: keyof CapForm) => fieldOf<CapForm, typeof name>(form, change, name);
  const change = (next: CapForm) => onForm({ ...form, ...next });
  return (
    <>
      <TextField
        label={mode === "credit" ? "Limit in credits" : "Limit in tokens"}
        state={field("limit")}
        inputMode="decimal"
        required
      />
      <SelectField label="Period" state={field("period")} choices={capPeriods} />
      <TextField label="Models" state={field("models")} placeholder="all, or claude-opus-*" />
      <TextField
        label="Model to run instead"
        state={field("then")}
        placeholder="none: reject"
        hint="Runs requests beyond the limit. The cap's models must not include it."
      />
      {form.then.trim() !== "" && (
        <SelectField label="Requests with state" state={field("thenAlways")} choices={choicesOf(always)} />
      )}
      {isEach && (
        <TextField
          label="Values to count in a period"
          state={field("values")}
          placeholder="10000"
          inputMode="numeric"
        />
      )}
    </>
  );
}

/** A new cap as typed. */
export interface NewCapForm extends CapForm {
  readonly whom: string;
  readonly name: string;
  readonly within: string;
  readonly place: string;
  readonly mode: string;
  readonly missing: string;
}

export const emptyCap: NewCapForm = {
  ...emptyTerms,
  ...{ whom: "owner", name: "", within: "all", place: "", mode: "credit", missing: "reject" },
};

const whoms = {
  owner: "Each owner of keys",
  user: "Each end user",
  tag: "Each value of a tag",
  "one owner": "One owner",
  "one user": "One end user",
  "one tag": "One value of a tag",
};

/** The field that identifies whom the cap limits; kinds that need no field are missing. */
const names: Readonly<Record<string, { readonly label: string; readonly placeholder: string }>> = {
  tag: { label: "Name of the tag", placeholder: "project" },
  "one owner": { label: "Owner", placeholder: "ada@example.com" },
  "one user": { label: "End user", placeholder: "As the client sends it" },
  "one tag": { label: "Tag", placeholder: "project=atlas" },
};

const places = { all: "All keys", key: "One key", account: "One account" };
const modes = { credit: "Credits", token_budget: "Token budgets" };
const missing = { reject: "Reject", count: "Count together" };

export function isEachOf({ whom }: NewCapForm): boolean {
  return !whom.startsWith("one ");
}

/** Whether clients can leave out the label. */
function needsLabel(form: NewCapForm): boolean {
  return isEachOf(form) && form.whom !== "owner";
}

export function newCapOf(form: NewCapForm): NewCapBody {
  const name = form.name.trim();
  const [, one] = form.whom.split(" ");
  const whom =
    one === undefined ? { each: form.whom === "tag" ? `tag:${name}` : form.whom } : { [one]: name };
  const isEverywhere = form.within === "all";
  const mode = form.mode === "credit" ? "credit" : "token_budget";
  return {
    ...whom,
    ...(isEverywhere ? { mode } : { [form.within]: form.place.trim() }),
    ...termsOf(form, mode),
    ...(needsLabel(form) && (isEverywhere || form.missing === "count") && { optional: true }),
    ...(isEachOf(form) && valuesOf(form)),
  };
}

interface NewCapFieldsProps {
  readonly form: NewCapForm;
  readonly onForm: (form: NewCapForm) => void;
}

/** Fields for whom a new cap limits, and within which key or account. */
export function WhomFields({ form, onForm }: NewCapFieldsProps) {
  const field = (name: keyof NewCapForm) => fieldOf(form, onForm, name);
  const name = names[form.whom];
  return (
    <>
      <SelectField label="Limits" state={field("whom")} choices={choicesOf(whoms)} />
      {name !== undefined && <TextField {...name} state={field("name")} required />}
      <SelectField label="Within" state={field("within")} choices={choicesOf(places)} />
      {form.within !== "all" && (
        <TextField
          label={form.within === "key" ? "Key" : "Account"}
          state={field("place")}
          placeholder={form.within === "key" ? "Its prefix or label" : "Its name or id"}
          required
        />
      )}
      <SelectField
        label={form.within === "all" ? "Counts" : "Amounts are in"}
        state={field("mode")}
        choices={choicesOf(modes)}
      />
      {needsLabel(form) && form.within !== "all" && (
        <SelectField label="Requests without it" state={field("missing")} choices={choicesOf(missing)} />
      )}
      {needsLabel(form) && form.within === "all" && (
        <p class="muted">Requests without it count together, because other clients do not send it.</p>
      )}
    </>
  );
}
