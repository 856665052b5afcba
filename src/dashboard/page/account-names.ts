import type { AccountList } from "../../admin/accounts/schema.ts";
import { useAnswer } from "./api.ts";

/** Labels of the accounts that are loaded and have one. */
export function useAccountNames(): (account: string) => string {
  const accounts = useAnswer<AccountList>("/accounts").value?.data ?? [];
  return (account) => accounts.find(({ id }) => id === account)?.label ?? account;
}
