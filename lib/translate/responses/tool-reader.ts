/** Requests of the responses protocol: tools, wherever they are declared, and which of them are to be called. */
import type { Ask, Choice, Tool } from '../ask.ts'
import { join, type Literal } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import type { Member } from '../request.ts'

/** The tools of a list. Those that run at the upstream, or that only its models know, are lost. */
export function readTools(ask: Ask, tree: Tree, node: Node): Tool[] {
  const tools: Tool[] = []
  for (const element of tree.elements(node)) {
    const name = tree.string(tree.get(element, 'name'))
    const isSpace = tree.string(tree.get(element, 'type')) === 'namespace' && name !== null
    const found = isSpace ? spaceOf(ask, tree, element, name) : [toolOf(tree, element)]
    for (const tool of found) {
      if (tool === null) ask.losses.add('hosted_tools')
      else tools.push(tool)
    }
  }
  return tools
}

/** What is said of a namespace has no place of its own elsewhere, and stands before what is said of its first tool. */
function spaceOf(ask: Ask, tree: Tree, node: Node, namespace: string): Tool[] {
  const about = tree.literal(tree.get(node, 'description'))
  const tools = readTools(ask, tree, tree.get(node, 'tools')).map(tool => ({ ...tool, namespace }))
  const [first] = tools
  if (first !== undefined && about !== null) first.description = both(about, first.description)
  return tools
}

const both = (about: Literal, more: Literal | null): Literal => (more === null ? about : join([about, more], '\\n\\n'))

function toolOf(tree: Tree, node: Node): Tool | null {
  const type = tree.string(tree.get(node, 'type'))
  const name = tree.string(tree.get(node, 'name'))
  const description = tree.literal(tree.get(node, 'description'))
  if (name === null) return null
  if (type === 'custom') return { type: 'freeform', name, description, ...grammarOf(tree, tree.get(node, 'format')) }
  if (type !== 'function') return null
  const schema = tree.get(node, 'parameters')
  return {
    type,
    name,
    description,
    schema: tree.kind(schema) === 'object' ? tree.source(schema) : null,
    strict: tree.boolean(tree.get(node, 'strict')),
  }
}

function grammarOf(tree: Tree, format: Node): { grammar: Literal | null; syntax?: string } {
  const syntax = tree.string(tree.get(format, 'syntax'))
  return { grammar: tree.literal(tree.get(format, 'definition')), ...(syntax === null ? {} : { syntax }) }
}

const CHOICES: Readonly<Record<string, Choice>> = {
  auto: { type: 'auto' },
  required: { type: 'any' },
  none: { type: 'none' },
}

export const readToolChoice: Member = (ask, tree, node, field) => {
  const word = tree.string(node) ?? ''
  const type = tree.string(tree.get(node, 'type'))
  const name = tree.string(tree.get(node, 'name'))
  const namespace = tree.string(tree.get(node, 'namespace'))
  if (Object.hasOwn(CHOICES, word)) ask.choice = CHOICES[word] as Choice
  else if (type === 'allowed_tools') ask.choice = allowedOf(tree, node)
  else if ((type === 'function' || type === 'custom') && name !== null)
    ask.choice = { type: 'one', name, ...(namespace === null ? {} : { namespace }) }
  else throw new Untranslatable(field)
}

function allowedOf(tree: Tree, node: Node): Choice {
  const names = tree.elements(tree.get(node, 'tools')).map(tool => tree.string(tree.get(tool, 'name')))
  const must = tree.string(tree.get(node, 'mode')) === 'required'
  return { type: 'some', names: names.filter(name => name !== null), must }
}

/**
 * When all tools are known: of several with the same name the first one counts. A tool that is not there cannot be called,
 * and what was to be forced is not what would be answered.
 */
export function checkTools(ask: Ask): void {
  const seen = new Set<string>()
  ask.tools = ask.tools.filter(({ name, namespace = '' }) => {
    const key = `${namespace}\0${name}`
    return seen.has(key) ? false : seen.add(key)
  })
  const { choice, tools } = ask
  if (choice.type === 'any' && tools.length === 0) throw new Untranslatable('tool_choice')
  if (choice.type === 'one') ask.choice = oneOf(choice, tools)
  if (choice.type !== 'some') return
  const names = new Set(choice.names)
  if (tools.some(({ name }) => names.has(name))) return
  if (choice.must) throw new Untranslatable('tool_choice')
  ask.choice = { type: 'none' }
}

/** The choice with the namespace of the tool, which may be left out. */
function oneOf({ name, namespace }: Extract<Choice, { type: 'one' }>, tools: readonly Tool[]): Choice {
  const found = tools.find(tool => tool.name === name && (namespace === undefined || tool.namespace === namespace))
  if (found === undefined) throw new Untranslatable('tool_choice')
  return { type: 'one', name, ...(found.namespace === undefined ? {} : { namespace: found.namespace }) }
}
