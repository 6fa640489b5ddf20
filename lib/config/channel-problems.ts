/** What the schema alone cannot see of a channel: reserved addresses, and protocols and addresses that its kind does not have. */
import { type ChannelForm, toChannel } from './catalog-rows.ts'
import { regionProblem } from './credentials-schema.ts'
import { namesReserved } from './reserved-addresses.ts'
import { PROVIDERS } from './upstreams.ts'
import { providerOf, unspoken } from './upstreams.ts'

export const NOT_RESERVED = 'an address that is not link-local or reserved (or private: true)'

/** The field of a channel whose URL names a reserved address, which only `private: true` allows; null = none. */
export function reservedField(channel: ChannelForm): 'base_url' | 'proxy' | null {
  if (channel.private) return null
  if (namesReserved(channel.base_url)) return 'base_url'
  return channel.proxy !== undefined && namesReserved(channel.proxy) ? 'proxy' : null
}

/**
 * Complains, as the text that follows "expected", of a protocol for which neither the kind nor `paths` has a path; null
 * = none.
 */
export function protocolProblem(form: ChannelForm): string | null {
  const { kind } = form
  const [missing] = unspoken({ ...toChannel(form) })
  if (kind === undefined || missing === undefined) return null
  const spoken = Object.keys(PROVIDERS[kind].paths).join(', ')
  return `a kind that speaks ${missing}, or its path under paths (${kind} speaks ${spoken})`
}

/** Complains, as the text that follows "expected", of an address that the kind of the channel cannot have; null = it can. */
export function addressProblem(channel: ChannelForm): string | null {
  const form = providerOf(channel.kind ?? null)?.address ?? null
  return form === null || form.fits(new URL(channel.base_url)) ? regionProblem(channel) : form.expected
}
