/**
 * The table of tools: who runs a tool that a request names, and what that costs beside tokens. A tool that the upstream runs
 * and bills by the piece has a price in the model's row, or the request is refused. A tool that is not in the table is one
 * of these too, so that nothing new is given away.
 *
 * Messages, chat and responses name a tool by its type, and providers and proxies take each other's types, so that these
 * three share one table. A type may end with a date: all dates of a type cost alike. On generate each member of a tool is one.
 */

/**
 * `free`: the client runs it, or it finds only what stands in the request. `tokens`: the upstream runs it, and what it reads
 * and writes is charged as tokens (or as pictures, where it draws). `stored`: it works on what is stored at the upstream, which
 * all customers share, so that it is refused. The others name the price of the piece; `other`: one under `tools`, and so does a
 * `setting`, which is no tool, and makes what the request asks for dearer at its provider.
 */
export type ToolCost =
  | 'free'
  | 'tokens'
  | 'stored'
  | 'web_search'
  | 'maps'
  | 'container'
  | 'code_execution'
  | 'other'
  | 'setting'

/** Sizes of containers, as they are asked for and priced. */
export const CONTAINER_SIZES = ['1g', '4g', '16g', '64g'] as const
export type ContainerSize = (typeof CONTAINER_SIZES)[number]
/** The size of a container for which none is asked. */
export const USUAL_SIZE: ContainerSize = '1g'

/** By type, without its date. A tool without a type is a function. */
export const TYPED_TOOLS: Readonly<Record<string, ToolCost>> = {
  '': 'free',
  function: 'free',
  custom: 'free',
  namespace: 'free',
  apply_patch: 'free',
  bash: 'free',
  browser_toolset: 'free',
  computer: 'free',
  computer_toolset: 'free',
  computer_use_preview: 'free',
  local_shell: 'free',
  memory: 'free',
  text_editor: 'free',
  // of servers that the request names beside its tools, and that count there
  mcp_toolset: 'free',
  // they find tools among those of the request
  tool_search: 'free',
  tool_search_tool_bm25: 'free',
  tool_search_tool_regex: 'free',
  advisor: 'tokens',
  image_generation: 'tokens',
  mcp: 'tokens',
  // the model writes programs that call the other tools, each of which counts by itself
  programmatic_tool_calling: 'tokens',
  web_fetch: 'tokens',
  file_search: 'stored',
  retrieval: 'stored',
  knowledge_search: 'stored',
  collections_search: 'stored',
  web_search: 'web_search',
  web_search_preview: 'web_search',
  x_search: 'web_search',
  browser_search: 'web_search',
  // the search of one provider, whose result the client only hands back
  builtin_function: 'web_search',
  'openrouter:web_search': 'web_search',
  code_interpreter: 'container',
  shell: 'container',
  code_execution: 'code_execution',
}

/** By member, in the spelling with underscores. */
export const GENERATE_TOOLS: Readonly<Record<string, ToolCost>> = {
  function_declarations: 'free',
  computer_use: 'free',
  code_execution: 'tokens',
  url_context: 'tokens',
  mcp_servers: 'tokens',
  file_search: 'stored',
  retrieval: 'stored',
  google_search: 'web_search',
  google_search_retrieval: 'web_search',
  enterprise_web_search: 'web_search',
  google_maps: 'maps',
  exa_ai_search: 'other',
  parallel_ai_search: 'other',
}

/**
 * Members of a body that switch on what the upstream bills beside its tools. `always`: it runs for every request that has the
 * member, and not when the model likes.
 */
export interface Switch {
  cost: ToolCost
  always?: true
  /** True: other models to turn to are named, which protocols without tools refuse, too. */
  turns?: true
}

/** The switches of messages, chat and responses, in the body and in its `extra_body`. */
export const SWITCHES: Readonly<Record<string, Switch>> = {
  web_search_options: { cost: 'web_search' },
  web_search: { cost: 'web_search' },
  search_parameters: { cost: 'web_search' },
  enable_search: { cost: 'web_search' },
  enable_enhancement: { cost: 'web_search' },
  force_search_enhancement: { cost: 'web_search', always: true },
  enable_deep_search: { cost: 'other', always: true },
  enable_code_interpreter: { cost: 'code_execution' },
  compound_custom: { cost: 'other', always: true },
  // a second model, which reads the request and the answer
  safety_model: { cost: 'other', always: true },
  route: { cost: 'stored', turns: true },
  models: { cost: 'stored', turns: true },
  context_window_fallbacks: { cost: 'stored', turns: true },
  content_policy_fallbacks: { cost: 'stored', turns: true },
  preset: { cost: 'stored' },
  data_sources: { cost: 'stored' },
  container: { cost: 'stored' },
  mcp_servers: { cost: 'tokens' },
  plugins: { cost: 'other', always: true },
}

/**
 * Settings by which a search becomes dearer at some provider than one that has none, and the values that do not make it dearer. A
 * price of searches is that of such a search, of the size `medium`.
 */
export const SEARCH_SETTINGS: Readonly<Record<string, ReadonlySet<string>>> = {
  search_context_size: new Set(['low', 'medium']),
  search_type: new Set(['fast']),
  search_strategy: new Set(['turbo']),
  search_engine: new Set(['search_std']),
  engine: new Set(['auto', 'native']),
  max_results: new Set(['0', '1', '2', '3', '4', '5']),
}

/** The models by which the tool for pictures draws that cost no more than the one it has by itself. */
export const USUAL_DRAWERS: ReadonlySet<string> = new Set(['gpt-image-1', 'gpt-image-1-mini'])
export const DRAWING_TOOL = 'image_generation'

/** Where several providers have a model, the members that choose among them, of which some are dearer. */
export const ROUTING: Readonly<Record<string, ReadonlySet<string>>> = {
  order: new Set(),
  only: new Set(),
  ignore: new Set(),
  sort: new Set(['price', 'cost']),
  quantizations: new Set(),
  preferred_min_throughput: new Set(),
  preferred_max_latency: new Set(),
}

/** A plugin that searches before the model is asked, for every request. Others are tools of their own name. */
export const SEARCH_PLUGIN = 'web'
/** A model's name ends so at proxies where every request of it searches. */
export const SEARCH_SUFFIX = ':online'

const DATE = /[_-](?:\d{8}|\d{4}[_-]\d{2}[_-]\d{2})$/

export const stemOf = (type: string): string => type.replace(DATE, '')

/** `functionDeclarations` → `function_declarations`. */
export const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

export const costOfType = (stem: string): ToolCost => own(TYPED_TOOLS, stem) ?? 'other'
export const costOfMember = (stem: string): ToolCost => own(GENERATE_TOOLS, stem) ?? 'other'

/** Tells whether a member of a tool is known to be a tool of generate that is not free. */
export const isToolMember = (name: string): boolean => (own(GENERATE_TOOLS, snake(name)) ?? 'free') !== 'free'

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** A tool that a request names and that is not free. */
export interface AskedTool {
  /** The name in the table, and in `tools` of a price. */
  stem: string
  cost: ToolCost
  /** The name that the client gave. */
  name: string
  /** The uses that it may have; null = the request does not say. */
  uses: number | null
  size: ContainerSize
  /** The place from which it can be left out; null = it cannot. A setting of a search goes with it. */
  place: ToolPlace | null
  /** True: the tool runs for every request that names it. */
  always: boolean
  /** True: it does, or the request says that it has to. */
  forced: boolean
}

const CODE_IN_IT = /^web_(search|fetch)_(\d{8})$/
/** Since this date searching and fetching run code by themselves. */
const RUNS_CODE_SINCE = '20260209'

/**
 * Code that is run costs nothing beside a search or a fetch of these dates, by the provider's price list. `searches`: whether
 * searches stay in the request.
 */
export function withFreeCode(tools: readonly AskedTool[], searches: boolean): readonly AskedTool[] {
  const isFree = tools.some(({ name }) => {
    const [, what, date = ''] = CODE_IN_IT.exec(name) ?? []
    return date >= RUNS_CODE_SINCE && (what === 'fetch' || (what === 'search' && searches))
  })
  if (!isFree) return tools
  return tools.map(tool => (tool.cost === 'code_execution' ? { ...tool, cost: 'tokens' } : tool))
}

/** A tool can be left out as an element of a list of tools, or as a member of the body. */
type ToolPlace = { element: ListElement } | { member: string }

export interface ListElement {
  start: number
  end: number
  /** The end of the element before it; -1 = it is the first. */
  before: number
  /** The beginning of the next one; -1 = it is the last. */
  next: number
  /** True when an element before it stays when what may be left out is. */
  follows: boolean
  /** The list of the whole request, and not one inside an item. */
  top: boolean
}

/** In the place of a stem: the answer rests on what some tool has found, and nothing says which. */
export const GROUNDED = '*'

/** The uses of a tool, as seen in an answer or reported. */
export interface UsedTool {
  stem: string
  calls: number
  /** Distinct containers in which it ran; at least one when it was used. */
  containers: number
}

/**
 * What an answer is charged for: the uses that were seen, and one of each tool of which none can be seen, because the answers
 * of the protocol do not show calls (`hidesCalls`), because it runs for every request, or because the answer does not say by
 * which of the tools it was grounded. Searches are counted apart.
 */
export function withUnseen(
  asked: readonly AskedTool[],
  seen: readonly UsedTool[],
  hidesCalls: boolean,
): readonly UsedTool[] {
  if (asked.length === 0) return seen
  const used = [...seen]
  const isGrounded = seen.some(({ stem }) => stem === GROUNDED)
  for (const { stem, cost, always } of asked) {
    const isUnseen = hidesCalls || always || (isGrounded && cost === 'other')
    const isFee = cost !== 'tokens' && cost !== 'web_search'
    if (isFee && isUnseen && !used.some(one => one.stem === stem)) used.push({ stem, calls: 1, containers: 1 })
  }
  return used
}
