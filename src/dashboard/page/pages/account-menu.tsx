import type { AccountView } from "../../../admin/accounts/schema.ts";
import { Button } from "../parts/button.tsx";
import { useDialogs } from "../parts/dialogs.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { AdjustAccount, CloseAccount, EditAccount, TopUpAccount } from "./account-dialogs.tsx";
import { CreateKey } from "./key-dialogs.tsx";

const dialogs = {
  key: CreateKey,
  topup: TopUpAccount,
  adjust: AdjustAccount,
  edit: EditAccount,
  close: CloseAccount,
} as const;

interface AccountMenuProps {
  readonly account: AccountView;
  readonly onChange: () => void;
  /** Shows a button for the most common action, if there is room. */
  readonly showsTopUp?: boolean;
}

/** The actions on an account. A closed one can still be paid for. */
export function AccountMenu({ account, onChange, showsTopUp = false }: AccountMenuProps) {
  const [ask, dialog] = useDialogs(dialogs, account, onChange);
  const isActive = account.status === "active";
  return (
    <ForAdmins>
      {showsTopUp && account.mode === "credit" && (
        <Button kind="primary" icon="plus" onClick={ask("topup")}>
          Top up
        </Button>
      )}
      <Menu label={`Actions for ${account.label ?? account.id}`}>
        {isActive && <MenuItem onClick={ask("key")}>New key…</MenuItem>}
        {account.mode === "credit" && <MenuItem onClick={ask("topup")}>Top up…</MenuItem>}
        {account.mode === "credit" && <MenuItem onClick={ask("adjust")}>Adjust credit…</MenuItem>}
        <MenuItem onClick={ask("edit")}>Edit…</MenuItem>
        {isActive && <hr />}
        {isActive && (
          <MenuItem danger onClick={ask("close")}>
            Close…
          </MenuItem>
        )}
      </Menu>
      {dialog}
    </ForAdmins>
  );
}
