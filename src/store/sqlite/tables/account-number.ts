/**
 * The `account_no` of an entry or a hold: NULL for the key's own account, which has the key's number. So the common
 * case stores nothing, and rows older than accounts need no change.
 */
export function otherAccount(keyNo: number, accountNo: number): number | null {
  return accountNo === keyNo ? null : accountNo;
}
