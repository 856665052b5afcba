/** The id of the account that is made with a key, for that key alone. */
export function ownAccountId(keyId: string): string {
  return `acc_${keyId.replace(/^key_/, "")}`;
}
