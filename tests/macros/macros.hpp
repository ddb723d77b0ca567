// SPDX-License-Identifier: Apache-2.0
// No #pragma once: a unit may include it again, since a macro may be defined twice alike.

/// @file
/// Macros of libraries that a training program may include before floptally.

// NOLINTBEGIN

// single capital letters
#define A 1
#define B 1
#define C 1
#define D 1
#define E 1
#define F 1
#define G 1
#define H 1
#define I 1
#define J 1
#define K 1
#define L 1
#define M 1
#define N 1
#define O 1
#define P 1
#define Q 1
#define R 1
#define S 1
#define T 1
#define U 1
#define V 1
#define W 1
#define X 1
#define Y 1
#define Z 1

// <windows.h>
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define NEAR near
#define FAR far
#define small char
#define hyper long
#define interface struct
#define pascal
#define cdecl
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define THIS this
#define PURE = 0
#define TRUE 1
#define FALSE 0
#define STRICT 1
#define ERROR 0
#define NO_ERROR 0
#define DELETE 0x00010000L
#define IGNORE 0
#define INFINITE 0xFFFFFFFF
#define ABSOLUTE 1
#define RELATIVE 2
#define TRANSPARENT 1
#define OPAQUE 2
#define DIFFERENCE 11
#define UNALIGNED
#define GetMessage GetMessageA
#define GetObject GetObjectA
#define CreateFile CreateFileA
#define LoadImage LoadImageA
#define SendMessage SendMessageA
#define Yield()
#define grp1 0x0430
#define chx1 0x0410
#define rad1 0x0420
#define lst1 0x0460
#define cmb1 0x0470
#define stc1 0x0440

// Qt
#define slots
#define signals public
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)

// Apple's <AssertMacros.h> and Objective-C
#define check(assertion)
#define check_noerr(code)
#define check_string(assertion, text)
#define verify(assertion)
#define verify_noerr(code)
#define require(assertion, label)
#define require_noerr(code, label)
#define require_action(assertion, label, action)
#define nil 0
#define Nil 0
#define YES 1
#define NO 0

// X11
#define None 0L
#define Bool int
#define Status int
#define Always 2
#define Success 0
#define True 1
#define False 0
#define Above 0
#define Below 1
#define Unsorted 0
#define Convex 2
#define Complex 0
#define CurrentTime 0L
#define KeyPress 2

// <sys/sysmacros.h>
#define major(device) 1
#define minor(device) 1
#define makedev(a, b) 1
// NOLINTEND
