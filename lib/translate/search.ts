/**
 * Hosted web search in requests: the upstream searches while it answers. Every protocol has a tool or a member of its own for it, and
 * several providers of chat completions have others. A request reader makes a `Search` of what its clients send, and a request writer
 * says it as its target does (`TranslationTarget.search`). The answer's side is `search-results.ts`.
 */
import { decode } from '../protocols/json/text.ts'
import type { Ask, Choice, Search, SearchWords } from './ask.ts'
import { Untranslatable, type Losses } from './events.ts'
import { array, type JsonText, type Literal, literal, object, typed } from './json/literal.ts'
import type { Node, Tree } from './json/tree.ts'

/** The name by which a search is called, and by which it is forced in messages. */
export const SEARCH_NAME = 'web_search'
/** How the ids of searches begin that clients of messages are told of. */
export const SEARCH_ID = 'srvtoolu_gw1_'
const PLACE = ['city', 'region', 'country', 'timezone'] as const
/** No honest request names more domains. */
const MOST_DOMAINS = 2000

const TYPES = /^(?:openrouter:)?web_search(?:_preview)?(?:_\d{8}|_\d{4}_\d{2}_\d{2})?$/

/** Whether a tool of this type is a search, in messages, chat and responses. */
export const isSearchType = (type: string | null): boolean => type !== null && TYPES.test(type)

// --- reading

const domains = (tree: Tree, node: Node, ...names: string[]): Literal[] =>
  names
    .flatMap(name => tree.elements(node, name))
    .slice(0, MOST_DOMAINS)
    .map(one => tree.literal(one))
    .filter(one => one !== null)

function placeOf(tree: Tree, node: Node): Record<string, Literal> {
  const place: Record<string, Literal> = {}
  for (const name of PLACE) {
    const value = tree.literal(node, name)
    if (value !== null) place[name] = value
  }
  return place
}

/** A larger search may be dearer than the price says, and is not asked of another provider. */
const SIZES = /^"(?:low|medium)"$/

/** Notes a search. `field`: the member of the body; `node`: the tool, or the member that has the options. */
export function readSearch(ask: Ask, tree: Tree, tool: Node, field: string): void {
  const parameters = tree.get(tool, 'parameters')
  const node = tree.kind(parameters) === 'object' ? parameters : tool
  const filters = tree.get(node, 'filters')
  const location = tree.get(node, 'user_location')
  const nested = tree.get(location, 'approximate')
  const size = tree.literal(node, 'search_context_size')
  const uses = tree.number(node, 'max_uses')
  // a search in what the provider has kept, which others cannot be told apart from one in the web
  if (tree.boolean(node, 'external_web_access') === false) ask.losses.add('search_options')
  const isSize = size !== null && SIZES.test(size)
  if (size !== null && !isSize) ask.losses.add('search_options')
  ask.search = {
    field,
    maxUses: uses !== null && uses >= 1 ? Math.floor(uses) : null,
    allowed: [
      ...domains(tree, node, 'allowed_domains', 'include_domains'),
      ...domains(tree, filters, 'allowed_domains'),
    ],
    blocked: [
      ...domains(tree, node, 'blocked_domains', 'excluded_domains', 'exclude_domains', 'excludeDomains'),
      ...domains(tree, filters, 'blocked_domains', 'excluded_domains'),
    ],
    size: isSize ? size : null,
    place: placeOf(tree, tree.kind(nested) === 'object' ? nested : location),
    isNeeded: false,
  }
}

/**
 * When all tools are known: what was forced is the search where no function is meant. `isSole`: a request that has nothing but a search
 * is for the search.
 */
export function settleSearch(ask: Ask, isSole = false): void {
  const { search, choice, tools } = ask
  if (search === null) return
  if (choice.type === 'some') allow(ask, choice)
  const isNamed = choice.type === 'one' && isSearchType(choice.name) && !tools.some(({ name }) => name === choice.name)
  if (isNamed || (choice.type === 'any' && tools.length === 0)) ask.choice = { type: 'search' }
  search.isNeeded = ask.choice.type === 'search' || (isSole && tools.length === 0)
}

/** Only some tools may be called, and the search is one of them, or none. */
function allow(ask: Ask, { names, must }: Extract<Choice, { type: 'some' }>): void {
  const others = names.filter(name => !isSearchType(name))
  if (others.length === names.length) ask.search = null
  else if (others.length > 0) ask.choice = { type: 'some', names: others, must }
  else {
    ask.tools = []
    ask.choice = { type: must ? 'search' : 'auto' }
  }
}

// --- writing

interface Wanted {
  search: Search | null
  choice: Choice
}

/** The search as the target may have it; null = there is none. Throws `Untranslatable` where it is needed and cannot be made. */
export function searchFor({ search, choice }: Wanted, canSearch: boolean, losses: Losses): Search | null {
  if (search === null || choice.type === 'none') return null
  if (canSearch) return search
  if (search.isNeeded) throw new Untranslatable(search.field)
  losses.add('hosted_tools')
  return null
}

/** What of a search a protocol or provider has a place for. */
interface Takes {
  uses?: boolean
  allowed?: boolean
  blocked?: boolean
  size?: boolean
  place?: boolean
}

/** Names what has no place. */
export function loseRest({ maxUses, allowed, blocked, size, place }: Search, takes: Takes, losses: Losses): void {
  if (maxUses !== null && !takes.uses) losses.add('max_tool_calls')
  if ((allowed.length > 0 && !takes.allowed) || (blocked.length > 0 && !takes.blocked)) losses.add('search_domains')
  const isPlaced = Object.keys(place).length > 0
  if ((size !== null && !takes.size) || (isPlaced && !takes.place)) losses.add('search_options')
}

export const arrayUnlessEmpty = (all: readonly Literal[]): JsonText | undefined =>
  all.length === 0 ? undefined : array(all)

/** The place of the user; undefined = it is not said. */
export const locationOf = ({ place }: Search): JsonText | undefined =>
  Object.keys(place).length === 0 ? undefined : typed('approximate', place)

/** What asks for a search in a body of chat completions: members, or an element of its tools. */
export interface ChatSearch {
  tool?: JsonText
  members?: Record<string, JsonText>
}
type SaySearch = (search: Search, isForced: boolean, losses: Losses) => ChatSearch

/** Whoever knows this member searches with every request, or as the model likes. */
const byOptions: SaySearch = (search, isForced, losses) => {
  loseRest(search, { size: true, place: true }, losses)
  if (isForced) losses.add('tool_choice')
  const { size, place } = search
  const isPlaced = Object.keys(place).length > 0
  const user_location = isPlaced ? typed('approximate', { approximate: object(place) }) : undefined
  return { members: { web_search_options: object({ search_context_size: size ?? undefined, user_location }) } }
}

const CHAT: Readonly<Record<Exclude<SearchWords, null>, SaySearch>> = {
  own: byOptions,
  plain: byOptions,
  zhipu(search, isForced, losses) {
    const [domain, ...others] = search.allowed
    const isOne = domain !== undefined && others.length === 0
    loseRest(search, { allowed: isOne }, losses)
    const members = {
      enable: 'true',
      search_engine: '"search_std"',
      search_result: 'true',
      search_intent: isForced ? 'false' : undefined,
      search_domain_filter: isOne ? domain : undefined,
    }
    return { tool: typed('web_search', { web_search: object(members) }) }
  },
  dashscope(search, isForced, losses) {
    loseRest(search, {}, losses)
    const forced = isForced ? { search_options: object({ forced_search: 'true' }) } : {}
    return { members: { enable_search: 'true', ...forced } }
  },
  /** The plugin searches before the model is asked, and the tool as the model likes. */
  openrouter(search, isForced, losses) {
    const { allowed, blocked, size } = search
    loseRest(search, { allowed: true, blocked: true, size: !isForced, place: !isForced }, losses)
    if (isForced) {
      const plugin = {
        id: '"web"',
        include_domains: arrayUnlessEmpty(allowed),
        exclude_domains: arrayUnlessEmpty(blocked),
      }
      return { members: { plugins: array([object(plugin)]) } }
    }
    const parameters = object({
      allowed_domains: arrayUnlessEmpty(allowed),
      excluded_domains: arrayUnlessEmpty(blocked),
      search_context_size: size ?? undefined,
      user_location: locationOf(search),
    })
    return { tool: typed('openrouter:web_search', { parameters }) }
  },
}

export const chatSearch = (words: SearchWords, search: Search, isForced: boolean, losses: Losses): ChatSearch =>
  CHAT[words ?? 'own'](search, isForced, losses)

const LONGEST_QUERY = 300

/** What the user wants to know, for clients that show what was searched for where the upstream does not say it. */
export function queryOf({ turns, short }: Ask): Literal {
  const said = turns.findLast(({ role }) => role === 'user')?.parts.findLast(part => part.type === 'text')
  const text = said === undefined ? '' : (decode(short?.whole(said.text) ?? said.text) ?? '')
  return literal(text.trim().slice(0, LONGEST_QUERY).toWellFormed())
}
