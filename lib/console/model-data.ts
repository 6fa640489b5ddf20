/** What the page of one model shows: what it costs in a public group and has cost there, and how clients reach it. */
import type { CatalogueModel, PriceHistory, PublicCatalogue } from '../operations/catalogue/public-catalogue.ts'
import { CLIENTS, type ClientRow } from './clients.ts'
import type { PublicUrls } from './connect-data.ts'

export interface ModelData extends PublicUrls {
  group: string
  /** The public groups that offer it. */
  groups: string[]
  model: CatalogueModel
  history: PriceHistory['data']
  /** Those that speak one of its protocols. */
  clients: readonly ClientRow[]
}

type Catalogue = Pick<PublicCatalogue, 'models' | 'prices'>

/** By the row of the catalogue, which is of one group, and goes when the catalogue is made anew: also with other groups. */
const made = new WeakMap<CatalogueModel, ModelData>()

/** The same object as long as nothing in it has changed, so that the page is written once. null = no public group offers such a model. `asked`: a group, which counts when it offers the model. */
export async function modelData(
  { main, direct }: PublicUrls,
  catalogue: Catalogue,
  name: string,
  asked: string | undefined,
): Promise<ModelData | null> {
  const all = await Promise.all((await catalogue.models()).groups.map(group => catalogue.models(group)))
  const offers = all.flatMap(({ group, models }) => {
    const model = models.find(one => one.name === name)
    return group === null || model === undefined ? [] : [{ group, model }]
  })
  const offer = offers.find(({ group }) => group === asked) ?? offers[0]
  if (offer === undefined) return null
  const { data: history } = await catalogue.prices(name, offer.group)
  const groups = offers.map(({ group }) => group)
  const known = made.get(offer.model)
  if (known?.history === history && known.main === main && known.direct === direct) return known
  const clients = CLIENTS.flatMap(row => clientOf(row, offer.model.protocols))
  const data = { main, direct, ...offer, groups, history, clients }
  made.set(offer.model, data)
  return data
}

/** Snippets that are named after a protocol are for that one only. */
function clientOf(row: ClientRow, protocols: readonly string[]): ClientRow[] {
  if (!row.protocols.some(protocol => protocols.includes(protocol))) return []
  const isOther = (title: string) => row.protocols.some(one => one === title) && !protocols.includes(title)
  return [{ ...row, snippets: row.snippets.filter(({ title }) => !isOther(title)) }]
}
