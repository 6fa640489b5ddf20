/**
 * Writes down which tools a request names that are not free, whether it says that they have to be used, and how a search
 * that is only offered can be left out of it.
 */

import {
  type AskedTool,
  costOfMember,
  costOfType,
  DRAWING_TOOL,
  type ListElement,
  ROUTING,
  SEARCH_PLUGIN,
  SEARCH_SETTINGS,
  SWITCHES,
  type Switch,
  snake,
  stemOf,
  type ToolCost,
  USUAL_DRAWERS,
  USUAL_SIZE,
} from '../words/server-tools.ts'
import { decode } from '../json/text.ts'
import { added, type Draft } from './facts.ts'
import { type PlaceFrame, Place, type Read, type Value } from './places.ts'
import * as read from './readers.ts'

/** No honest request names more; the rest of a list could be anything. */
const MOST_TOOLS = 256
/** The word for a name that cannot be read. */
const UNREADABLE = '?'

interface Named extends Partial<Pick<AskedTool, 'uses' | 'size' | 'place' | 'always' | 'forced'>> {
  stem: string
  cost: ToolCost
  name: string
}

function note(
  draft: Draft,
  { stem, cost, name, uses = null, size = USUAL_SIZE, place = null, always = false, forced = always }: Named,
) {
  if (cost === 'free') return
  if (draft.tools.length === MOST_TOOLS) draft.invalid ??= 'tools'
  else
    draft.tools = added(draft.tools, {
      stem,
      cost,
      name: name === UNREADABLE ? 'type' : name,
      uses,
      size,
      place,
      always,
      forced,
    })
}

/** An element of a list of tools ends: where it stands among the others. null = it is no element of a list. */
function elementOf(draft: Draft, { owner, start, inList }: PlaceFrame, end: number): ListElement | null {
  draft.listedTools++
  if (owner === null || !inList) return null
  const last = owner.lastTool
  const element = { start, end, before: last?.end ?? -1, next: -1, follows: owner.toolStays, top: owner.owner === null }
  if (last !== null) last.next = start
  owner.lastTool = element
  return element
}

/** Notes a tool by its type, when its object ends. */
export function typedTool(draft: Draft, frame: PlaceFrame, end: number): void {
  const stem = stemOf(frame.type)
  const cost: ToolCost = frame.isLocal && stem === 'shell' ? 'free' : costOfType(stem)
  const element = elementOf(draft, frame, end)
  const isSearch = cost === 'web_search' && element !== null
  const { uses } = frame
  const size = (frame.size ?? USUAL_SIZE) as AskedTool['size']
  const place = isSearch ? { element } : null
  note(draft, { stem, cost, name: frame.type, uses, size, place })
  if (cost === 'web_search' || stem.endsWith(DRAWING_TOOL)) noteSettings(draft, frame, place)
  if (!isSearch) stay(draft, frame)
}

/** The tool stays when searches are left out. */
function stay(draft: Draft, { owner }: PlaceFrame): void {
  if (owner === null) return
  owner.toolStays = true
  if (owner.owner === null) draft.keepsTools = true
}

/** An element of a list of tools that is no object: whatever it means, nobody here knows it. */
export const bareTool: Read = (draft, value, frame) => {
  const name = read.capturedString(value) ?? UNREADABLE
  draft.listedTools++
  note(draft, { stem: stemOf(name), cost: 'other', name, forced: true })
  stay(draft, frame)
}

/** Notes a member of a tool which is one by itself. */
export function memberTool(draft: Draft, name: string, frame: PlaceFrame): void {
  const stem = snake(name)
  const cost = costOfMember(stem)
  frame.hasMembers = true
  if (cost !== 'web_search') frame.hasOthers = true
  note(draft, { stem, cost, name })
}

/** The object of such a tool ends: a search can be left out where it is all that the object has. */
export function endMembers(draft: Draft, frame: PlaceFrame, end: number): void {
  const element = elementOf(draft, frame, end)
  if (frame.hasOthers || element === null) {
    stay(draft, frame)
    return
  }
  for (let i = draft.tools.length - 1; i >= 0; i--) {
    const tool = draft.tools[i] as AskedTool
    if (tool.place !== null || tool.cost !== 'web_search') break
    tool.place = { element }
  }
}

// --- settings that make something dearer

/** What a setting says, as it is compared with what costs no more. Lists and objects say what cannot be read. */
const said = ({ kind, text }: Value): string | null =>
  text === null ? null : kind === 'scalar' ? text : (decode(text)?.toLowerCase() ?? null)

const isDearer = (value: Value, usual: ReadonlySet<string>): boolean =>
  !read.isNull(value) && !usual.has(said(value) ?? '')

/** Reads a setting, which counts when the object ends that is the tool. */
const setting =
  (name: string, usual: ReadonlySet<string>): Read =>
  (_draft, value, frame) => {
    if (isDearer(value, usual) && !frame.settings.includes(name)) frame.settings = [...frame.settings, name]
  }

/** A place with settings of a search. */
function withSettings(place: Place): Place {
  for (const [name, usual] of Object.entries(SEARCH_SETTINGS)) place.has(name, setting(name, usual))
  return place
}

const drawer = setting('image_model', USUAL_DRAWERS)

/** An object of them inside of the tool, which in tools of other types is what the author wants. */
const settings = withSettings(
  new Place({
    single: true,
    free: true,
    end(_draft, { owner, settings }) {
      if (owner !== null) owner.settings = [...owner.settings, ...settings]
    },
  }),
).has('model', drawer)

/** Adds to the place of a tool by which model it draws. */
export const withDrawing = (place: Place): Place => place.has('model', drawer)

/** Adds to the place of a tool what some providers read of one that searches. */
export const withSearch = (place: Place): Place =>
  withSettings(place).has('parameters', { inside: settings }).has('web_search', { inside: settings })

function noteSettings(draft: Draft, frame: PlaceFrame, place: AskedTool['place']): void {
  for (const name of frame.settings) noteSetting(draft, name, name, place)
}

function noteSetting(draft: Draft, stem: string, name: string, place: AskedTool['place'] = null): void {
  note(draft, { stem, cost: 'setting', name, uses: 1, place, always: true, forced: false })
}

/** A place that chooses among the providers of a model. `name`: the member that it is the value of. */
function routing(name: string): Place {
  const place = new Place()
  for (const [member, usual] of Object.entries(ROUTING)) {
    const chooses = (draft: Draft): void => {
      const path = `${name}.${member}`
      // of a list once
      if (draft.tools.at(-1)?.name !== path) noteSetting(draft, 'provider', path)
    }
    const judge: Read = (draft, value) => isDearer(value, usual) && chooses(draft)
    const end = (draft: Draft, { type }: PlaceFrame): unknown => usual.has(type.toLowerCase()) || chooses(draft)
    place.has(member, { read: judge, inside: new Place({ element: judge, end }).has('by', read.type) })
  }
  return place
}

// --- members of the body that switch something on

const switchOf = (name: string): Switch => SWITCHES[name] as Switch

function noteSwitch(draft: Draft, name: string, isTop: boolean, isForced = false): AskedTool['place'] {
  const { cost, always = false } = switchOf(name)
  const place = cost === 'web_search' && isTop ? { member: name } : null
  note(draft, { stem: name, cost, name, place, always, forced: always || isForced })
  return place
}

/** The object of such a member may say that it is off, or that it has to run. */
const switched = (name: string): Place =>
  withSettings(
    new Place({
      end(draft, frame) {
        const isTop = frame.owner !== null && frame.owner.owner === null && !frame.inList
        if (frame.uses === 0 || frame.type === 'off') return
        noteSettings(draft, frame, noteSwitch(draft, name, isTop, frame.type === 'on'))
      },
    }),
  )
    .has('enable', (_draft, value, frame) => {
      if (!read.isOn(value)) frame.uses = 0
    })
    .has('mode', read.type)

/** A plugin, which some upstreams run before they ask the model, for every request. */
function notePlugin(draft: Draft, name: string): void {
  if (name === SEARCH_PLUGIN)
    note(draft, { stem: 'web_search', cost: 'web_search', name: 'plugins', uses: 1, always: true })
  else
    note(draft, { stem: name === UNREADABLE ? 'plugins' : name, cost: 'other', name: 'plugins', uses: 1, always: true })
}

const plugin = withSettings(
  new Place({
    element: (draft, value) => notePlugin(draft, read.capturedString(value) ?? UNREADABLE),
    end(draft, frame) {
      if (frame.uses === 0) return
      notePlugin(draft, frame.type === '' ? UNREADABLE : frame.type)
      noteSettings(draft, frame, null)
    },
  }),
)
  .has('id', read.type)
  .has('enabled', (_draft, value, frame) => {
    if (!read.isOn(value)) frame.uses = 0
  })

/** Reads a value in the place of the list. */
const plugins: Read = (draft, value) => {
  if (read.isOn(value)) notePlugin(draft, UNREADABLE)
}

const server = new Place({ end: draft => note(draft, { stem: 'mcp_servers', cost: 'tokens', name: 'mcp_servers' }) })

const searchOptions = withSettings(
  new Place({ end: (draft, frame) => noteSettings(draft, frame, { member: 'search_options' }) }),
).has('forced_search', {
  read(draft, value) {
    draft.forcesSearch ||= read.isOn(value)
  },
})

/** Some upstreams turn to the models that stand here when the one that was asked for fails, or cannot read what was sent. */
const gatewayOptions = routing('providerOptions.gateway').has('models', read.stored('providerOptions'))
/** What one of the providers alone is told, in the words of its own protocol. */
const ownOptions = new Place()
  .has('serviceTier', { alias: 'service_tier', read: read.tier('service', 'service_tier') })
  .has('speed', read.tier('speed', 'speed'))
  .has('inferenceGeo', { alias: 'inference_geo', read: read.tier('geo', 'inference_geo') })
const optionsOfAll = new Place().has('gateway', { inside: gatewayOptions })
for (const name of ['anthropic', 'azure', 'bedrock', 'google', 'groq', 'openai', 'vertex', 'xai'])
  optionsOfAll.has(name, { inside: ownOptions })
const providerOptions = { alias: 'provider_options', inside: optionsOfAll }

/** Adds what chooses among the providers of a model. */
const withProviders = (place: Place): Place =>
  place.has('provider', { inside: routing('provider') }).has('providerOptions', providerOptions)

/** Adds all members to a place that name other models to turn to, whose prices are not known here. */
export function withoutOthers(place: Place): Place {
  for (const [name, { turns }] of Object.entries(SWITCHES)) if (turns) place.has(name, read.stored(name))
  return withProviders(place).has('fallbacks', read.stored('fallbacks'))
}

/** Maxima in the words of single servers, some of which read them before the protocol's own. */
const OTHER_MAXIMA = ['n_predict', 'max_new_tokens', 'max_length']

/** Adds all members to a place that switch on what is billed beside tools, but for those that it has. */
export function withSwitches(place: Place): Place {
  for (const [name, { cost }] of Object.entries(SWITCHES)) {
    if (place.fields.has(name)) continue
    if (name === 'plugins') place.has(name, { inside: plugin, read: plugins })
    else if (name === 'mcp_servers') place.has(name, { inside: server })
    else if (cost === 'stored') place.has(name, read.stored(name))
    else
      place.has(name, {
        inside: switched(name),
        read(draft, value, frame) {
          if (read.isOn(value)) noteSwitch(draft, name, frame.owner === null)
        },
      })
  }
  for (const name of OTHER_MAXIMA) place.has(name, read.raiseMaximum)
  return withProviders(place).has('search_options', { inside: searchOptions })
}

// --- what has to be used

const choose = (draft: Draft, name: string): void => {
  if (draft.chosen.length < MOST_TOOLS) draft.chosen = added(draft.chosen, name)
}
const ANY = new Set(['any', 'required'])
const chosenName: Read = (draft, value) => {
  const name = read.capturedString(value) ?? UNREADABLE
  if (ANY.has(name)) draft.mustUse = true
  else choose(draft, name)
}
const chosen = new Place({ element: chosenName }).has('type', chosenName).has('name', chosenName)
/** The member `tool_choice`, in the forms of all protocols: a word, a tool, or a list of those that are allowed. */
const choice = new Place({ element: chosenName })
  .has('type', chosenName)
  .has('name', chosenName)
  .has('mode', chosenName)
  .has('tools', { inside: chosen })
choice.has('allowed_tools', { inside: choice })
export const toolChoice = { read: chosenName, inside: choice }
