/** The base path of the admin API. */
export const adminBase = "/admin/api/v1";

/** The base path of what people and keys read of their own. */
export const memberBase = "/usage/api/v1";
