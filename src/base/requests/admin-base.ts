/** The base path of the admin API. */
export const adminBase = "/admin/api/v1";
