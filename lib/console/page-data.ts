/** What the server writes into pages: what they show without a script, or need before they can begin. */
import { isDeepStrictEqual } from 'node:util'
import { CLIENTS, type ClientRow } from './clients.ts'
import { ERRORS, type ErrorName } from '../base/errors.ts'
import type { Words } from '../base/people.ts'
import type { Config } from '../config/config.ts'
import type {
  CatalogueModel,
  GroupCatalogue,
  PriceHistory,
  PublicCatalogue,
} from '../operations/catalogue/public-catalogue.ts'
import { reasonWords } from '../operations/usage/words.ts'
import type { Protocol } from '../protocols/names.ts'

/** The addresses at which clients reach the gateway, without a slash at the end. */
interface PublicUrls {
  main: string
  direct: string
}

export interface ClientsData extends PublicUrls {
  clients: readonly ClientRow[]
}

/** A group, those among which the reader can choose, and the models that the files can name. */
export interface Offered extends Pick<GroupCatalogue, 'group' | 'groups'> {
  models: Pick<GroupCatalogue['models'][number], 'name' | 'protocols' | 'translated' | 'state'>[]
}

/** A refusal that people meet: its status, and the words of the page Requests for it. */
export interface RefusalMet {
  name: ErrorName
  status: number
  why: Words
  todo: Words
}

export interface ConnectData extends ClientsData {
  offered: Offered
  failures: readonly RefusalMet[]
}

/** In the order of how often newcomers meet them: first that the money does not suffice. */
const MET: readonly ErrorName[] = [
  ...([
    'quota',
    'estimate',
    'ip',
    'group',
    'model_restricted',
    'banned',
    'key',
    'no_channel',
    'untranslatable',
  ] as const),
  ...([
    'tool',
    'unpriced',
    'no_model',
    'model_unknown',
    'url',
    'too_large',
    'rate',
    'concurrency',
    'saturated',
  ] as const),
  ...(['upstream', 'channels_resting', 'timeout'] as const),
]

const FAILURES: readonly RefusalMet[] = MET.map(name => ({ name, status: ERRORS[name].status, ...reasonWords(name) }))

let latest: ClientsData | null = null

/** Returns one object as long as the addresses stay, so that pages of it are written once. */
export function clientsData({ main, direct }: PublicUrls): ClientsData {
  if (latest?.main !== main || latest.direct !== direct) latest = { main, direct, clients: CLIENTS }
  return latest
}

const connected = new WeakMap<ClientsData, { of: GroupCatalogue; data: ConnectData }>()

/** Returns one object as long as the addresses and the catalogue stay. */
export function connectData(urls: PublicUrls, catalogue: GroupCatalogue): ConnectData {
  const site = clientsData(urls)
  const known = connected.get(site)
  if (known?.of === catalogue) return known.data
  const { group, groups, models } = catalogue
  const offered = {
    group,
    groups,
    models: models.map(({ name, protocols, translated, state }) => ({ name, protocols, translated, state })),
  }
  const data = { ...site, offered, failures: FAILURES }
  connected.set(site, { of: catalogue, data })
  return data
}

const MOST_AT_HOME = 8

export interface HomeData extends Pick<PublicUrls, 'main'> {
  group: string | null
  /** How many models there are; `models` has the first that can be used. */
  count: number
  models: CatalogueModel[]
}

const atHome = new WeakMap<GroupCatalogue, HomeData>()

/** Returns one object as long as the address and the catalogue stay. */
export function homeData({ main }: PublicUrls, catalogue: GroupCatalogue): HomeData {
  const known = atHome.get(catalogue)
  if (known?.main === main) return known
  const { group, models } = catalogue
  const usable = models.filter(({ price, state }) => price !== null && state !== 'offline')
  const data = { main, group, count: usable.length, models: usable.slice(0, MOST_AT_HOME) }
  atHome.set(catalogue, data)
  return data
}

export interface ModelData extends PublicUrls {
  group: string
  /** The public groups that offer it. */
  groups: string[]
  model: CatalogueModel
  history: PriceHistory['data']
  /** The clients that speak one of the model's protocols. */
  clients: readonly ClientRow[]
}

type Catalogue = Pick<PublicCatalogue, 'models' | 'prices'>

/** By the row of the catalogue, which is of one group, and goes when the catalogue is made anew: also with other groups. */
const made = new WeakMap<CatalogueModel, ModelData>()

/**
 * Returns one object as long as nothing in it has changed, so that the page is written once; null = no public group offers such a model.
 * `asked`: a group, which counts when it offers the model.
 */
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
  const speaks = (protocols: readonly Protocol[]) => protocols.some(one => offer.model.protocols.includes(one))
  const clients = CLIENTS.filter(({ protocols }) => speaks(protocols))
  const data = { main, direct, ...offer, groups, history, clients }
  made.set(offer.model, data)
  return data
}

export interface RegisterData {
  /** Address of the page that shows the letter; null = it comes by mail. */
  mailbox: string | null
}

/** Hands out the object before as long as the next one says the same, so that the page is written once. */
function keptWhileEqual<T extends object>(): (data: T) => T {
  let latest: T | null = null
  return data => (latest = latest !== null && isDeepStrictEqual(latest, data) ? latest : data)
}

const latestRegister = keptWhileEqual<RegisterData>()

export const registerData = ({ mailbox }: Pick<Config, 'mailbox'>): RegisterData => latestRegister({ mailbox })

export interface SignInData {
  /** Whether anybody may register. */
  register: boolean
  /** Whether the gateway can send letters. */
  mail: boolean
  /** What the button for the OpenID provider says; null = there is none. */
  oidc: string | null
}

const latestSignIn = keptWhileEqual<SignInData>()

export const signInData = ({ registration, smtp, oidc }: Pick<Config, 'registration' | 'smtp' | 'oidc'>): SignInData =>
  latestSignIn({ register: registration.mode === 'open', mail: smtp !== null, oidc: oidc?.name ?? null })
