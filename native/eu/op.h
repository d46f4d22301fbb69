/*
 * A decoded instruction: everything that can be known before it runs (spec/40 6 to 8).
 */
#ifndef G4_EU_OP_H
#define G4_EU_OP_H

#include "eu/gang.h"

#include "isa.h"

enum g4_kind {
    G4_KIND_NULL,     /* reads 0, drops writes; also what cannot be read: an MRF as a source */
    G4_KIND_IMM,      /* the same eight channels for every thread */
    G4_KIND_GRF,      /* direct */
    G4_KIND_MRF,      /* destination only */
    G4_KIND_INDIRECT, /* one address (1x1) */
    G4_KIND_INDEXED,  /* one address for each row (Vx1, VxH) */
    G4_KIND_ARF,      /* any but null and accumulators */
    G4_KIND_ACC,
};

/* What arithmetic happens in (spec/40 3.2). */
enum g4_exec_type {
    G4_EXEC_W, /* 33 bits, kept as 64 */
    G4_EXEC_D, /* 64 bits */
    G4_EXEC_F,
};

enum {
    G4_PASS_CHANNELS = 32, /* no pass has more */
};

struct g4_src {
    uint8_t kind, type, size; /* enum g4_kind, enum g4_type, bytes of an element */
    uint8_t reg;              /* ARF number */
    bool abs, negate, align16;
    uint8_t vstride, width, hstride; /* elements; in Align16 width is 4 */
    uint8_t swizzle[4];
    uint8_t pass_bytes; /* how much further on the second pass of a compressed instruction reads */
    uint8_t addr_sub;   /* which a0 */
    int16_t addr_imm;
    uint16_t base;   /* byte in the register file, or in the architecture register */
    uint32_t imm[8]; /* channel c has element c % 8, in the operand's type */
};

struct g4_dst {
    uint8_t kind, type, size;
    uint8_t reg;
    uint8_t hstride;
    uint8_t writemask; /* Align16 channel enables, else 0xf */
    uint8_t addr_sub;
    uint8_t pass_bytes;
    int16_t addr_imm;
    uint16_t base;
};

/* How the operands look to the fast handlers (fast.h); filled by g4_fast_select.  A part is eight channels: a pass of a
 * compressed instruction, or half of one pass with sixteen. */
struct g4_fast_src {
    uint8_t load;           /* enum g4_fast_load */
    uint8_t reg[2], sub[2]; /* of each part: register, byte in it */
    uint8_t size;           /* of an element */
    bool is_signed;         /* narrow elements are sign-extended */
    uint8_t convert;        /* enum g4_fast_convert */
    uint32_t keep, flip;    /* floats: value & keep ^ flip are the modifiers */
    int32_t invert, minus;  /* integers: (value ^ invert) - minus are the modifiers */
    uint16_t off[16];       /* G4_LOAD_GATHER: byte from the start of the gang, of thread 0 */
    int32_t idx[16];        /* G4_LOAD_PERMUTE: which dword of the register a channel takes, */
    int32_t left[16];       /* and how far its element has to go up to the dword's end */
    int32_t imm[16];        /* G4_LOAD_IMM: by channel */
};

struct g4_fast_dst {
    uint8_t store; /* enum g4_fast_store */
    uint8_t reg[2];
    uint8_t convert; /* enum g4_fast_convert */
    uint16_t off[16];
};

/* Where an indirect operand reaches to, for a look at the addresses before a fast handler uses them. */
struct g4_fast_address {
    uint16_t used[8]; /* 0xffff: this a0 is an address of it */
    int16_t imm;      /* added to each */
    uint16_t extent;  /* bytes from an address to the end of its last element */
};

struct g4_jit_block;

struct g4_op {
    uint16_t handler; /* enum g4_handler */
    uint8_t opcode;
    uint8_t exec_type;
    uint8_t exec_size; /* channels of the whole instruction */
    uint8_t passes;    /* 2: compressed */
    uint8_t channels;  /* of one pass */
    bool sechalf, align16, nomask, saturate;
    uint8_t cond, predicate, flag;
    bool predicate_inverse;
    bool acc_write; /* implicit, and somebody reads it */
    bool breakpoint;
    bool undefined;   /* the part has no such opcode */
    uint8_t mrf;      /* send: first payload register; also where the implied move goes */
    uint8_t pop;      /* branches */
    uint8_t half;     /* which eight channels of the masks the first pass uses */
    uint8_t parts;    /* fast handlers: how many times eight channels */
    uint8_t count;    /* channels of a part */
    uint8_t acc;      /* accumulator of the first part */
    bool whole_move;  /* send: the implied move takes whole registers as they are, */
    bool dword_move;  /* or single dwords: in[0].off says from where, */
    uint8_t move_top; /* all below this register */
    uint32_t ip;      /* bytes from the kernel's first instruction */
    uint32_t next;
    uint32_t target;     /* branches with an immediate count */
    uint32_t descriptor; /* send with an immediate descriptor */
    uint32_t word0;      /* for reports */
    g4_lanes size_lanes; /* channels of a half below the execution size */
    struct g4_dst dst;
    struct g4_src src[2];
    g4_lanes written; /* Align16 channel enables, and the execution size */
    struct g4_fast_src in[2];
    struct g4_fast_dst out;
    uint16_t ordinary; /* G4_HANDLER_INDIRECT: the handler if all addresses are in range */
    uint8_t addresses; /* indirect operands */
    struct g4_fast_address address[3];
    struct g4_jit_block *block; /* machine code that starts with this op; NULL: none (jit/jit.h) */
};

static inline bool g4_op_compares(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_CMP || op->opcode == G4_OPCODE_CMPN;
}

/* Bytes from the region's first element to that of channel c. */
static inline unsigned g4_region_offset(const struct g4_src *src, unsigned c) {
    if (src->align16) {
        return (c / 4u * src->vstride + src->swizzle[c & 3u]) * src->size;
    }
    return (c / src->width * src->vstride + c % src->width * src->hstride) * src->size;
}

static inline bool g4_src_scalar(const struct g4_src *src) {
    return !src->align16 && src->vstride == 0 && src->width == 1;
}

/* Take an instruction apart.  `w` is in its full form, `ip` where it is, `length` how long it was in memory. */
void g4_decode(struct g4_op *op, const uint32_t w[4], const struct g4_model *model, uint32_t ip, uint32_t length);

/* Whether an instruction reads the accumulator, or hides whether something does. */
bool g4_op_reads_acc(const struct g4_op *op);

#endif
