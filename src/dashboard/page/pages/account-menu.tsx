import type { AccountView } from "../../../admin/accounts/schema.ts";
import { Button } from "../parts/button.tsx";
import { ask } from "../parts/dialogs.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { AdjustAccount, CloseAccount, EditAccount, TopUpAccount } from "./account-dialogs.tsx";
import { CreateKey } from "./key-dialogs.tsx";

interface AccountMenuProps {
  readonly account: AccountView;
  /** Shows a button for the most common action, if there is room. */
  readonly showsTopUp?: boolean;
}

/** The actions on an account. A closed one can still be paid for. */
export function AccountMenu({ account, showsTopUp = false }: AccountMenuProps) {
  const isActive = account.status === "active";
  return (
    <ForAdmins>
      {showsTopUp && account.mode === "credit" && (
        <Button kind="primary" icon="plus" onClick={ask(TopUpAccount, account)}>
          Top up
        </Button>
      )}
      <Menu label={`Actions for ${account.label ?? account.id}`}>
        {isActive && <MenuItem onClick={ask(CreateKey, account)}>New key…</MenuItem>}
        {account.mode === "credit" && <MenuItem onClick={ask(TopUpAccount, account)}>Top up…</MenuItem>}
        {account.mode === "credit" && (
          <MenuItem onClick={ask(AdjustAccount, account)}>Adjust credit…</MenuItem>
        )}
        <MenuItem onClick={ask(EditAccount, account)}>Edit…</MenuItem>
        {isActive && <hr />}
        {isActive && (
          <MenuItem danger onClick={ask(CloseAccount, account)}>
            Close…
          </MenuItem>
        )}
      </Menu>
    </ForAdmins>
  );
}
