/**
 * Tells by its name whether a header or a query parameter carries a credential. A channel may set headers to constants
 * (`=text`); those whose name is a credential's are secrets, like the channel's keys: the store encrypts them and
 * nothing shows them.
 */
import type { Channel } from './channel.ts'

/** Words at the end of a name, whatever stands before them: names have separators (`x-api-key`) or none (`accesskey`). */
const ANYWHERE = /(key|token|secret|password|passwd|signature|authorization|credentials?|cookie)$/i
/** Words that other words end with too, as `config` nearly does with `sig`. */
const BY_THEMSELVES = /(^|[^a-z])(sig|auth|oauth|jwt|pass|pwd)$/i

export const isCredentialName = (name: string): boolean => ANYWHERE.test(name) || BY_THEMSELVES.test(name)

/** The headers of a channel that are constants (`=text`) and carry a credential. */
export const secretHeaders = (headers: Channel['headers']): Channel['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value.startsWith('=') && isCredentialName(name)))
