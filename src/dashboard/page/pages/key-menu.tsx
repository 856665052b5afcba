import { useState } from "preact/hooks";
import type { AccountList } from "../../../admin/accounts/schema.ts";
import type { CapView, KeyView } from "../../../admin/key-terms/schema.ts";
import { api, useAnswer } from "../api.ts";
import { nameOfKey } from "../key-name.ts";
import { Ask } from "../parts/ask.tsx";
import { Button } from "../parts/button.tsx";
import { capText } from "../parts/cap-bars.tsx";
import { ask } from "../parts/dialogs.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { notify } from "../parts/notices.tsx";
import { useAction } from "../parts/submit.ts";
import { amountOf } from "./cap-fields.tsx";
import {
  AdjustKey,
  aboutKey,
  EditKey,
  type KeyDialogProps,
  RotateKey,
  stopKey,
  TopUpKey,
} from "./key-dialogs.tsx";

const [DisableKey, SuspendKey, RevokeKey] = [stopKey("Disable"), stopKey("Suspend"), stopKey("Revoke")];

interface KeyMenuProps {
  readonly apiKey: KeyView;
  /** Shows a button for the most common action. */
  readonly showsButtons?: boolean;
}

/** The actions on a key that its status allows. */
export function KeyMenu({ apiKey: key, showsButtons = false }: KeyMenuProps) {
  const [, enable] = useAction(async () => {
    await api.post(`/keys/${key.id}/enable`);
    notify(`${nameOfKey(key)} is active again.`);
  });

  const held = key.status === "disabled" || key.status === "suspended";
  const isClosed = key.account_status === "closed";
  if (key.status === "revoked") return null;
  return (
    <ForAdmins>
      {showsButtons && key.mode === "credit" && (
        <Button icon="plus" onClick={ask(TopUpKey, key)}>
          Top up
        </Button>
      )}
      {showsButtons && (
        <Button icon="exchanges" onClick={ask(RotateKey, key)}>
          Rotate
        </Button>
      )}
      <Menu label={`Actions for ${nameOfKey(key)}`}>
        {key.mode === "credit" && <MenuItem onClick={ask(TopUpKey, key)}>Top up…</MenuItem>}
        {key.mode === "credit" && <MenuItem onClick={ask(AdjustKey, key)}>Adjust credit…</MenuItem>}
        <MenuItem onClick={ask(EditKey, key)}>Edit…</MenuItem>
        {key.caps.length > 0 && <MenuItem onClick={ask(RaiseCap, key)}>Raise a cap once…</MenuItem>}
        <MenuItem onClick={ask(MoveKey, key)}>Move to an account…</MenuItem>
        <MenuItem onClick={ask(RotateKey, key)}>Rotate secret…</MenuItem>
        {!(held && isClosed) && <hr />}
        {held && !isClosed && <MenuItem onClick={enable}>Enable</MenuItem>}
        {!held && <MenuItem onClick={ask(DisableKey, key)}>Disable…</MenuItem>}
        {!held && <MenuItem onClick={ask(SuspendKey, key)}>Suspend…</MenuItem>}
        <hr />
        <MenuItem danger onClick={ask(RevokeKey, key)}>
          Revoke…
        </MenuItem>
      </Menu>
    </ForAdmins>
  );
}

/** The cap's name in the API. */
function nameOf({ period, models }: CapView): string {
  return models === null ? period : `${period}:${models}`;
}

function RaiseCap({ subject: key, ...dialog }: KeyDialogProps) {
  const choices = key.caps.map((cap) => ({ value: nameOf(cap), text: capText(cap, key.mode) }));
  const [cap, amount, note] = [useState(choices[0]?.value ?? ""), useState(""), useState("")];
  const send = async () => {
    const raise = { cap: cap[0], amount: amountOf(amount[0], key.mode), note: note[0] };
    await api.post(`/keys/${key.id}/raise-cap`, raise);
  };
  const done = "The cap is raised until it resets.";
  const unit = key.mode === "credit" ? "Credits" : "Tokens";
  return (
    <Ask {...dialog} about={aboutKey(key)} title="Raise a cap once" verb="Raise" send={send} done={done}>
      <p>Only for the current period. The cap then returns to its normal value.</p>
      <SelectField label="Cap" state={cap} choices={choices} />
      <TextField label={`${unit} more`} state={amount} inputMode="decimal" required />
      <TextField label="Reason" state={note} placeholder="Stored in the audit log" required />
    </Ask>
  );
}

function MoveKey({ subject: key, ...dialog }: KeyDialogProps) {
  const accounts = useAnswer<AccountList>("/accounts");
  const fitting = (accounts.value?.data ?? []).filter(
    ({ id, mode, status }) => mode === key.mode && status === "active" && id !== key.account,
  );
  const [chosen, setChosen] = useState("");
  const account = chosen || (fitting[0]?.id ?? "");
  const send = () => api.post(`/keys/${key.id}/move`, { account });
  const done = "The key is now billed to the new account.";
  return (
    <Ask {...dialog} about={aboutKey(key)} title="Move to an account" verb="Move" send={send} done={done}>
      <p>
        Requests in progress are charged to the old account, and old entries stay there. The key keeps its
        caps and lifetime spend.
      </p>
      {accounts.value !== null && fitting.length === 0 ? (
        <p class="muted">There is no other {key.mode === "credit" ? "credit" : "token-budget"} account.</p>
      ) : (
        <SelectField
          label="Account"
          state={[account, setChosen]}
          choices={fitting.map(({ id, label }) => ({ value: id, text: label ?? id }))}
        />
      )}
    </Ask>
  );
}
