import { useState } from "preact/hooks";
import type { AccountView } from "../../../admin/views.ts";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import {
  type AccountDialogProps,
  AdjustAccount,
  CloseAccount,
  EditAccount,
  TopUpAccount,
} from "./account-dialogs.tsx";
import { CreateKey } from "./key-create.tsx";

function NewKey({ of: account, onDone }: AccountDialogProps) {
  return <CreateKey account={account} onClose={onDone} />;
}

const dialogs = {
  key: NewKey,
  topup: TopUpAccount,
  adjust: AdjustAccount,
  edit: EditAccount,
  close: CloseAccount,
} as const;

/** Everything that can be done to an account. A closed one can still be paid for. */
export function AccountMenu({ of: account, onChange }: { of: AccountView; onChange: () => void }) {
  const [open, setOpen] = useState<keyof typeof dialogs | null>(null);
  const Shown = open === null ? null : dialogs[open];
  const isActive = account.status === "active";
  return (
    <ForAdmins>
      <Menu label={`Actions for ${account.label ?? account.id}`}>
        {isActive && <MenuItem onClick={() => setOpen("key")}>New key…</MenuItem>}
        {account.mode === "credit" && <MenuItem onClick={() => setOpen("topup")}>Top up…</MenuItem>}
        {account.mode === "credit" && <MenuItem onClick={() => setOpen("adjust")}>Adjust credit…</MenuItem>}
        <MenuItem onClick={() => setOpen("edit")}>Edit…</MenuItem>
        {isActive && <hr />}
        {isActive && (
          <MenuItem danger onClick={() => setOpen("close")}>
            Close…
          </MenuItem>
        )}
      </Menu>
      {Shown && (
        <Shown
          of={account}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null);
            onChange();
          }}
        />
      )}
    </ForAdmins>
  );
}
