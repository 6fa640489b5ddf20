/** What the pages Connect and Keys show: the gateway's addresses, what each kind of client needs, and models for it. */
import type { GroupCatalogue } from '../operations/catalogue/public-catalogue.ts'
import { CLIENTS, type ClientRow } from './clients.ts'

/** The addresses at which clients reach the gateway, without a slash at the end. */
export interface PublicUrls {
  main: string
  direct: string
}

export interface ClientsData extends PublicUrls {
  clients: readonly ClientRow[]
}

/** A group, those among which the reader can choose, and the models that the files can name. */
export interface Offered extends Pick<GroupCatalogue, 'group' | 'groups'> {
  models: Pick<GroupCatalogue['models'][number], 'name' | 'protocols' | 'translated'>[]
}

export interface ConnectData extends ClientsData {
  offered: Offered
}

let latest: ClientsData | null = null

/** The same object as long as the addresses are the same, so that pages of it are written once. */
export function clientsData({ main, direct }: PublicUrls): ClientsData {
  if (latest?.main !== main || latest.direct !== direct) latest = { main, direct, clients: CLIENTS }
  return latest
}

const connected = new WeakMap<ClientsData, { of: GroupCatalogue; data: ConnectData }>()

/** The same object as long as the addresses and the catalogue are the same. */
export function connectData(urls: PublicUrls, catalogue: GroupCatalogue): ConnectData {
  const site = clientsData(urls)
  const known = connected.get(site)
  if (known?.of === catalogue) return known.data
  const { group, groups, models } = catalogue
  const offered = {
    group,
    groups,
    models: models.map(({ name, protocols, translated }) => ({ name, protocols, translated })),
  }
  const data = { ...site, offered }
  connected.set(site, { of: catalogue, data })
  return data
}
