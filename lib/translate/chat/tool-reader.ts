/** Requests of chat completions: tools, and which of them are to be called. */
import type { Ask, Choice, Tool } from '../ask.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import { cacheOf, type Member } from '../request.ts'

function functionOf(tree: Tree, node: Node, tool: Node): Tool | null {
  const name = tree.string(tree.get(node, 'name'))
  if (name === null) return null
  const schema = tree.get(node, 'parameters')
  return {
    type: 'function',
    name,
    description: tree.literal(tree.get(node, 'description')),
    schema: tree.kind(schema) === 'object' ? tree.source(schema) : null,
    strict: tree.boolean(tree.get(node, 'strict')),
    ...cacheOf(tree, tool),
  }
}

function customOf(tree: Tree, node: Node): Tool | null {
  const name = tree.string(tree.get(node, 'name'))
  if (name === null) return null
  const grammar = tree.get(tree.get(node, 'format'), 'grammar')
  const syntax = tree.string(tree.get(grammar, 'syntax'))
  return {
    type: 'freeform',
    name,
    description: tree.literal(tree.get(node, 'description')),
    grammar: tree.literal(tree.get(grammar, 'definition')),
    ...(syntax === null ? {} : { syntax }),
  }
}

export const readTools: Member = (ask, tree, node) => {
  for (const element of tree.elements(node)) {
    const type = tree.string(tree.get(element, 'type'))
    const isFunction = type === 'function' || type === null
    let tool: Tool | null = null
    if (isFunction) tool = functionOf(tree, tree.get(element, 'function'), element)
    else if (type === 'custom') tool = customOf(tree, tree.get(element, 'custom'))
    if (tool === null) ask.losses.add('hosted_tools')
    else ask.tools.push(tool)
  }
}

/** The form of tools before there were other tools than functions. */
export const readFunctions: Member = (ask, tree, node) => {
  for (const element of tree.elements(node)) {
    const tool = functionOf(tree, element, element)
    if (tool !== null) ask.tools.push(tool)
  }
}

const CHOICES: Readonly<Record<string, Choice>> = {
  auto: { type: 'auto' },
  required: { type: 'any' },
  none: { type: 'none' },
}

const nameOf = (tree: Tree, node: Node): string | null =>
  tree.string(tree.get(tree.get(node, 'function'), 'name')) ??
  tree.string(tree.get(tree.get(node, 'custom'), 'name')) ??
  tree.string(tree.get(node, 'name'))

export const readToolChoice: Member = (ask, tree, node) => {
  const word = tree.string(node)
  const allowed = tree.get(node, 'allowed_tools')
  const name = nameOf(tree, node)
  if (word !== null && Object.hasOwn(CHOICES, word)) ask.choice = CHOICES[word] as Choice
  else if (tree.kind(allowed) === 'object') ask.choice = allowedOf(tree, allowed)
  else if (name !== null) ask.choice = { type: 'one', name }
  else throw new Untranslatable('tool_choice')
}

function allowedOf(tree: Tree, node: Node): Choice {
  const names = tree.elements(tree.get(node, 'tools')).map(tool => nameOf(tree, tool))
  const must = tree.string(tree.get(node, 'mode')) === 'required'
  return { type: 'some', names: names.filter(name => name !== null), must }
}

/** When all tools are known: what is not there cannot be called. */
export function checkTools({ choice, tools }: Ask): void {
  if (choice.type === 'one' && !tools.some(({ name }) => name === choice.name)) throw new Untranslatable('tool_choice')
  if (choice.type === 'any' && tools.length === 0) throw new Untranslatable('tool_choice')
}
