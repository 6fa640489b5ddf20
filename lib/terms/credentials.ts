/** Which settings of a channel hold secrets beside its keys: constants of headers that carry credentials. */
import type { Channel } from './channel.ts'

const CREDENTIAL = /(^|[^a-z])(api-?key|key|token|secret|password|sig|signature|auth|authorization|credential|cookie)$/i

export const isCredentialName = (name: string): boolean => CREDENTIAL.test(name)

/** `=text` headers whose text is a secret. */
export const secretHeaders = (headers: Channel['headers']): Channel['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value.startsWith('=') && isCredentialName(name)))
