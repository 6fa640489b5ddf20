/** A state in a word. Colour and shape only help: the word says it. */
import type { VNode } from 'preact'
import { span } from '../base/element.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'plain'

export const badge = (tone: Tone, text: string): VNode => span({ class: `badge ${tone}` }, text)
