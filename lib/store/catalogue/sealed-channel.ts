/**
 * A channel as it is stored: its upstream keys, its proxy's URL (which may have a password) and headers with
 * credentials are encrypted.
 */
import { mapValues } from '../../base/objects.ts'
import type { Channel } from '../../terms/records.ts'
import { secretHeaders } from '../../base/secrets.ts'
import type { Sealer } from './sealer.ts'

export interface SealedChannel extends Omit<Channel, 'sealed'> {
  /** Headers whose values are credentials, encrypted; absent when there are none. */
  sealedHeaders?: Record<string, string>
}

/** The stored form of `channel`, which must not have `sealed` set: its credentials would be empty texts. */
export function sealChannel(channel: Channel, sealer: Sealer): SealedChannel {
  const { name, headers, proxy } = channel
  const secrets = Object.entries(secretHeaders(headers))
  const open = Object.entries(headers).filter(([header]) => !secrets.some(([secret]) => secret === header))
  return {
    ...channel,
    keys: channel.keys.map(one => ({ ...one, key: sealer.seal(one.key, name) })),
    proxy: proxy === null ? null : sealer.seal(proxy, name),
    headers: Object.fromEntries(open),
    ...(secrets.length === 0
      ? {}
      : { sealedHeaders: Object.fromEntries(secrets.map(([header, value]) => [header, sealer.seal(value, name)])) }),
  }
}

/**
 * Decrypts a stored channel. `current` is true when everything was encrypted under the present secret. A text that
 * cannot be decrypted becomes empty, and the channel gets `sealed: true`, so that nothing uses it.
 */
export function openChannel(row: SealedChannel, sealer: Sealer): { channel: Channel; current: boolean } {
  const { sealedHeaders = {}, ...rest } = row
  let [readable, current] = [true, true]
  const open = (sealed: string): string => {
    const opened = sealer.open(sealed, row.name)
    readable &&= opened !== null
    current &&= opened?.current === true
    return opened?.plain ?? ''
  }
  const channel: Channel = {
    ...rest,
    keys: row.keys.map(one => ({ ...one, key: open(one.key) })),
    proxy: row.proxy === null ? null : open(row.proxy),
    headers: { ...row.headers, ...mapValues(sealedHeaders, open) },
  }
  return { channel: readable ? channel : { ...channel, sealed: true }, current }
}
