/** Where a sign-in leads. */
import { hrefTo, START } from './sitemap.ts'

/** The address that asked for the sign-in, when it is a page of this console; else the first page of one's own. */
export const ownPage = (next: string | null): string =>
  next !== null && /^\/console\/(?!a\/|api\/)[\w\-/?=&%~+,:.]*$/.test(next) && !/\/\.|[\\\n]/.test(next)
    ? next
    : hrefTo(START)
