/**
 * Tells by its name whether a header or a query parameter carries a credential. A channel may set headers to constants
 * (`=text`); those whose name is a credential's are secrets, like the channel's keys: the store encrypts them and
 * nothing shows them.
 */
import type { Channel } from './channel.ts'

const CREDENTIAL = /(^|[^a-z])(api-?key|key|token|secret|password|sig|signature|auth|authorization|credential|cookie)$/i

export const isCredentialName = (name: string): boolean => CREDENTIAL.test(name)

/** The headers of a channel that are constants (`=text`) and carry a credential. */
export const secretHeaders = (headers: Channel['headers']): Channel['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value.startsWith('=') && isCredentialName(name)))
