/** Requests of generate-content: tools, and which of them are to be called. */
import type { Ask, FunctionTool } from '../ask.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import type { Member } from '../request.ts'
import { get, stringOf } from './members.ts'
import { jsonSchemaSource, schemaSource } from './schema-reader.ts'

const FUNCTIONS = /^function_?[dD]eclarations$/

/** Each member of a tool is a tool, or a list of functions. All others run at the upstream. */
export const readTools: Member = (ask, tree, node) => {
  for (const element of tree.elements(node))
    tree.members(element, (name, value) => {
      if (!FUNCTIONS.test(name)) ask.losses.add('hosted_tools')
      else for (const declared of tree.elements(value)) declare(ask, tree, declared)
    })
}

function declare(ask: Ask, tree: Tree, node: Node): void {
  const name = stringOf(tree, node, 'name')
  if (name === null) return
  if (stringOf(tree, node, 'behavior') === 'NON_BLOCKING') ask.losses.add('other')
  const description = tree.literal(tree.get(node, 'description'))
  ask.tools.push({ type: 'function', name, description, ...schemaOf(tree, node), strict: null })
}

/** There are two forms of schemas. */
function schemaOf(tree: Tree, node: Node): Pick<FunctionTool, 'schema'> {
  const json = get(tree, node, 'parametersJsonSchema')
  if (tree.kind(json) === 'object') return { schema: jsonSchemaSource(tree, json, true) }
  const parameters = tree.get(node, 'parameters')
  return { schema: tree.kind(parameters) === 'object' ? schemaSource(tree.source(parameters), true) : null }
}

/** In `VALIDATED`, calls must fit their schemas, which elsewhere is asked for only with schemas of a certain form. */
export const readToolConfig: Member = (ask, tree, node) => {
  const config = get(tree, node, 'functionCallingConfig')
  const mode = stringOf(tree, config, 'mode')?.toUpperCase() ?? ''
  const allowed = tree.elements(get(tree, config, 'allowedFunctionNames')).map(element => tree.string(element))
  const names = allowed.filter(name => name !== null)
  if (mode === 'VALIDATED') ask.losses.add('strict')
  if (mode === 'NONE') ask.choice = { type: 'none' }
  else if (mode === 'AUTO') ask.choice = { type: 'auto' }
  else if (mode === 'VALIDATED') ask.choice = names.length === 0 ? { type: 'auto' } : some(names, false)
  else if (mode === 'ANY') ask.choice = names.length === 0 ? { type: 'any' } : some(names, true)
}

const some = (names: string[], must: boolean): Ask['choice'] =>
  must && names.length === 1 ? { type: 'one', name: names[0] as string } : { type: 'some', names, must }

const FIELD = 'toolConfig.functionCallingConfig'

/** When all tools are known: what is not there cannot be called. Of several with the same name the first one counts. */
export function checkTools(ask: Ask): void {
  const seen = new Set<string>()
  ask.tools = ask.tools.filter(({ name }) => !seen.has(name) && seen.add(name))
  const { choice, tools } = ask
  if (choice.type === 'any' && tools.length === 0) throw new Untranslatable(FIELD)
  if (choice.type === 'one' && !seen.has(choice.name)) throw new Untranslatable(FIELD)
  if (choice.type !== 'some' || choice.names.some(name => seen.has(name))) return
  if (choice.must) throw new Untranslatable(FIELD)
  ask.choice = { type: 'none' }
}
