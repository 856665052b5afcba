/**
 * What `account_no` of an entry or a hold is: NULL for the key's own account, which has the key's number. So nothing is
 * written for it, and what is older than accounts needs no change.
 */
export function otherAccount(keyNo: number, accountNo: number): number | null {
  return accountNo === keyNo ? null : accountNo;
}
