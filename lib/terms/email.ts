/** E-mail addresses: which texts are one, and the one form by which a person is known. */

/** As the forms of browsers check it: one @, and a name of a host behind it. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~\p{L}\p{N}-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?\.[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*$/u
/** The longest that mail servers take is 254; the store's columns hold 190. */
const MOST = 190

/** In lower case and in one Unicode form, so that one person cannot be two; undefined = it is no e-mail. */
export function canonicalEmail(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MOST * 2) return undefined
  const email = value.trim().normalize('NFKC').toLowerCase()
  return email.length <= MOST && EMAIL.test(email) && !email.includes('..') ? email : undefined
}
