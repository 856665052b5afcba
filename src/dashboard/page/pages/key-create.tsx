import { useState } from "preact/hooks";
import type { IssuedKeyView, KeyView } from "../../../admin/views.ts";
import { type ApiError, api } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Secret } from "../parts/secret.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { Failure } from "../parts/states.tsx";
import { remember } from "../secrets.ts";
import { KeyFields } from "./key-fields.tsx";
import { creditsOf, emptyKeyForm, requestOf } from "./key-form.ts";

export function CreateKey({ onClose }: { onClose: () => void }) {
  const [mode, setMode] = useState<KeyView["mode"]>("credit");
  const [credit, setCredit] = useState("5");
  const [form, setForm] = useState(emptyKeyForm);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const start = mode === "credit" && credit.trim() !== "" ? { credit: creditsOf(credit) } : {};
      const made = await api.post<IssuedKeyView>("/keys", { mode, ...start, ...requestOf(form, mode) });
      remember(made);
      setIssued(made);
    } catch (cause) {
      setError(cause as ApiError);
    }
    setBusy(false);
  };

  if (issued) {
    return <Secret title="The new key" issued={issued} onClose={onClose} />;
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="body" onSubmit={submit}>
        <Segmented
          label="Billing mode"
          value={mode}
          choices={[
            { value: "credit", text: "Credit" },
            { value: "token_budget", text: "Token budget" },
          ]}
          onValue={(value) => setMode(value === "credit" ? "credit" : "token_budget")}
        />
        {mode === "credit" && (
          <TextField label="Starting credit" value={credit} onValue={setCredit} inputMode="decimal" />
        )}
        <KeyFields form={form} mode={mode} onForm={setForm} />
        {error && <Failure error={error} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Create key
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
