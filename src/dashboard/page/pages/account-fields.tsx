import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import { tpmText } from "../../../base/models/tpm-limit.ts";
import { tagsText } from "../../../base/requests/labels.ts";
import { choicesOf } from "../parts/choose.tsx";
import { fieldOf, SelectField, type State, TextField } from "../parts/field.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { CapFields, type CapForm, capForms, capsOf } from "./cap-fields.tsx";
import { budgetPeriods, contentChoices, fieldTexts, tagsOf, tpmOf, wholeOrNull } from "./key-form.ts";

const noCaps: readonly CapForm[] = [];

/** The editable fields of an account, as typed. */
export const emptyAccountForm = {
  label: "",
  isPostpaid: false,
  budget: "",
  period: "month",
  caps: noCaps,
  keyCaps: noCaps,
  content: "",
  tpm: "",
  tags: "",
};
type AccountForm = Readonly<typeof emptyAccountForm>;

export function accountFormOf(account: AccountView): AccountForm {
  return {
    label: account.label ?? "",
    isPostpaid: account.postpaid,
    budget: String(account.budget?.tokens ?? ""),
    period: account.budget?.period ?? "month",
    caps: capForms(account.caps),
    keyCaps: capForms(account.key_caps),
    content: account.content ?? "",
    tpm: tpmText(account.tpm_limits ?? []),
    tags: tagsText(account.tags ?? {}),
  };
}

export function accountRequest(form: AccountForm, mode: KeyView["mode"]): Record<string, unknown> {
  const terms =
    mode === "credit"
      ? { postpaid: form.isPostpaid }
      : { budget_tokens: wholeOrNull(form.budget, "The token budget"), period: form.period };
  const caps = { caps: capsOf(form.caps, mode), key_caps: capsOf(form.keyCaps, mode) };
  const content = form.content === "" ? null : form.content;
  const limits = { tpm_limits: tpmOf(form.tpm), tags: tagsOf(form.tags) };
  return { label: form.label.trim(), ...terms, ...caps, content, ...limits };
}

export function ModeField({
  label,
  state: [mode, setMode],
}: {
  label: string;
  state: State<KeyView["mode"]>;
}) {
  return (
    <Segmented
      label={label}
      state={[mode, (value) => setMode(value === "credit" ? "credit" : "token_budget")]}
      choices={choicesOf({ credit: "Credit", token_budget: "Token budget" })}
    />
  );
}

export function BilledField({ state: [isPostpaid, setOpen] }: { state: State<boolean> }) {
  return (
    <Segmented
      label="Billing"
      state={[isPostpaid ? "postpaid" : "prepaid", (value) => setOpen(value === "postpaid")]}
      choices={choicesOf({ prepaid: "Prepaid", postpaid: "Postpaid" })}
    />
  );
}

interface AccountFieldsProps {
  readonly form: AccountForm;
  readonly mode: KeyView["mode"];
  readonly onForm: (form: AccountForm) => void;
}

export function AccountFields({ form, mode, onForm }: AccountFieldsProps) {
  const field = <Name extends keyof AccountForm>(name: Name) => fieldOf(form, onForm, name);
  return (
    <>
      <TextField label="Name" state={field("label")} placeholder="A team, a customer, a class" required />
      {mode === "credit" ? (
        <BilledField state={field("isPostpaid")} />
      ) : (
        <div class="pair">
          <TextField
            label="Token budget"
            state={field("budget")}
            placeholder="no limit"
            inputMode="numeric"
          />
          <SelectField label="Resets" state={field("period")} choices={budgetPeriods} />
        </div>
      )}
      <CapFields
        title="Account caps"
        hint="Limits for all its keys together. All caps apply."
        state={field("caps")}
        mode={mode}
      />
      <CapFields
        title="Default caps for new keys"
        hint="They apply to keys created on this account. Existing keys are not changed."
        state={field("keyCaps")}
        mode={mode}
      />
      <TextField {...fieldTexts.tpm} state={field("tpm")} />
      <TextField {...fieldTexts.tag} state={field("tags")} />
      <SelectField
        {...fieldTexts.content}
        hint="Prompts and responses of everyone who uses a key of the account. Admins can read them, so tell these people. A key can have another choice, but cannot record if this is “never”."
        state={field("content")}
        choices={contentChoices}
      />
    </>
  );
}
